// Search in the contents and the mark of what is read, tabs of the languages, and a button that copies an example. The page
// is whole without this file.

const input = document.querySelector('#search');
const found = document.querySelector('nav output');
const contents = document.querySelector('nav details');
const entries = [...document.querySelectorAll('nav li')].map((item) => {
  const link = item.querySelector('a');
  const section = document.querySelector(link.getAttribute('href'));
  const text = `${item.textContent} ${section?.textContent ?? ''}`.toLowerCase();
  return { item, link, section, text };
});

/** Leaves the contents that have all words. */
function search() {
  contents.open = true;
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const { item, text } of entries) {
    item.hidden = !words.every((word) => text.includes(word));
    if (!item.hidden) count += 1;
  }
  found.textContent = words.length === 0 ? '' : `${count} found`;
}

input.closest('p').hidden = false;
input.addEventListener('input', search);
// A phone has the contents above the text.
contents.open = matchMedia('(min-width: 64.01rem)').matches;

/** Marks what is at the top of the screen, and shows its mark. */
function read(link) {
  document.querySelector('nav [aria-current]')?.removeAttribute('aria-current');
  link.setAttribute('aria-current', 'true');
  const { offsetParent: frame, offsetTop } = link;
  if (contents.open) frame.scrollTop = Math.max(0, offsetTop - frame.clientHeight / 2);
}

const reader = new IntersectionObserver(
  (changes) => {
    const begun = changes.findLast(({ isIntersecting }) => isIntersecting);
    if (begun) read(entries.find(({ section }) => section === begun.target).link);
  },
  { rootMargin: '-32px 0px -90% 0px' },
);
for (const { section } of entries) if (section) reader.observe(section);

for (const block of document.querySelectorAll('pre')) {
  // A long line is scrolled by the keyboard, too.
  block.tabIndex = 0;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  const frame = document.createElement('div');
  frame.className = 'frame';
  block.replaceWith(frame);
  frame.append(button, block);
}

const CHOICE = 'language';

/** Makes tabs of the languages of an example: a list of buttons, each with the panel of its figure. */
function tabsOf(group, number) {
  const list = document.createElement('div');
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', 'Language');
  const tabs = [...group.querySelectorAll('figure')].map((figure, index) => {
    const caption = figure.querySelector('figcaption');
    caption.hidden = true;
    const language = caption.textContent;
    const panel = document.createElement('div');
    panel.id = `sample-${number}-${index}`;
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-label', language);
    figure.replaceWith(panel);
    panel.append(figure);
    const button = document.createElement('button');
    button.type = 'button';
    button.setAttribute('role', 'tab');
    button.setAttribute('aria-controls', panel.id);
    button.textContent = language;
    list.append(button);
    return { language, button, panel };
  });
  group.prepend(list);
  return tabs;
}

const groups = [...document.querySelectorAll('.samples')].map(tabsOf);

/** Shows one language in every example; the choice is kept for the next visit. */
function choose(language) {
  for (const tabs of groups) {
    const shown = tabs.find((tab) => tab.language === language) ?? tabs[0];
    for (const tab of tabs) {
      tab.panel.hidden = tab !== shown;
      tab.button.setAttribute('aria-selected', String(tab === shown));
      tab.button.tabIndex = tab === shown ? 0 : -1;
    }
  }
}

const NEIGHBOUR = { ArrowRight: 'nextElementSibling', ArrowLeft: 'previousElementSibling' };

for (const { language, button } of groups.flat()) {
  button.addEventListener('click', () => {
    localStorage.setItem(CHOICE, language);
    choose(language);
    button.scrollIntoView({ block: 'nearest' });
  });
  button.addEventListener('keydown', ({ key }) => {
    const next = button[NEIGHBOUR[key]];
    next?.click();
    next?.focus();
  });
}
choose(localStorage.getItem(CHOICE));
