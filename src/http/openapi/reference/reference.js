// Search in the contents, and a button that copies an example. The page is whole without this file.

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
