// Search in the contents, tabs of the languages, and a button that copies an example. The page is whole without this file.

const input = document.querySelector('#search');
const found = document.querySelector('nav output');
const entries = [...document.querySelectorAll('nav li')].map((item) => {
  const section = document.querySelector(item.querySelector('a').getAttribute('href'));
  return { item, text: `${item.textContent} ${section?.textContent ?? ''}`.toLowerCase() };
});

/** Leaves the contents that have all words. */
function search() {
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

for (const block of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  block.before(button);
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
