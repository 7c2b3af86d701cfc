// Progressive enhancement: every page works without this script.

/** Copies a text; the button says so for a moment. */
async function copy(button) {
  const label = button.firstElementChild;
  const text = label.textContent;
  await navigator.clipboard.writeText(button.dataset.copy);
  label.textContent = 'Copied';
  setTimeout(() => (label.textContent = text), 2000);
}

for (const button of document.querySelectorAll('[data-copy]')) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener('click', () => copy(button));
}

const relative = new Intl.RelativeTimeFormat('en-IN', { numeric: 'auto' });
const UNITS = [
  ['day', 86400000],
  ['hour', 3600000],
  ['minute', 60000],
];

/** Keeps "in 5 hours" current; a deadline of minutes counts down. */
function updateTimes() {
  for (const part of document.querySelectorAll('[data-relative]')) {
    const leftMs = Date.parse(part.dataset.relative) - Date.now();
    const unit = UNITS.find(([, lengthMs]) => Math.abs(leftMs) >= lengthMs);
    part.textContent = `(${unit ? relative.format(Math.round(leftMs / unit[1]), unit[0]) : 'now'})`;
  }
}
setInterval(updateTimes, 30000);

/** Ticks all boxes of the form whose id it names; they may stand outside of it. */
for (const box of document.querySelectorAll('[data-select-all]')) {
  box.hidden = false;
  box.addEventListener('change', () => {
    for (const one of document.forms[box.dataset.selectAll].elements) {
      if (one.type === 'checkbox') one.checked = box.checked;
    }
  });
}

/** Plots: the arrow keys, or the pointer, read one day or hour after the other. */
for (const plot of document.querySelectorAll('[data-plot]')) {
  const spans = [...plot.querySelectorAll('.span')];
  const reading = document.querySelector(`#${plot.dataset.plot}-reading`);
  let current = spans.length;
  const read = (index) => {
    spans[current]?.classList.remove('current');
    current = Math.max(0, Math.min(spans.length - 1, index));
    spans[current].classList.add('current');
    reading.textContent = spans[current].firstElementChild.textContent;
  };
  plot.tabIndex = 0;
  plot.setAttribute('role', 'group');
  plot.setAttribute('aria-label', 'Read the values with the arrow keys');
  plot.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    read(current + step);
  });
  for (const [index, span] of spans.entries())
    span.addEventListener('pointerenter', () => read(index));
}

// Money that moves asks first. Without this script the question is a page.
const dialog = document.createElement('dialog');
dialog.setAttribute('aria-labelledby', 'confirmation');
document.body.append(dialog);

async function ask(form) {
  try {
    const body = new URLSearchParams(new FormData(form));
    const response = await fetch(form.action, { method: 'POST', body });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const question = page.querySelector('.confirmation');
    if (!question) throw new Error('The form was refused, or the password is asked for first');
    dialog.replaceChildren(question);
    dialog.showModal();
  } catch {
    form.submit();
  }
}

addEventListener('submit', (event) => {
  if (!('asks' in event.target.dataset)) return;
  event.preventDefault();
  void ask(event.target);
});

dialog.addEventListener('click', (event) => {
  if (!event.target.closest('[data-close]')) return;
  event.preventDefault();
  dialog.close();
});

// A live page: reloads itself when it has changed, unless it is in use.
const main = document.querySelector('main[data-live]');
const POLL_MS = 5000;
const MAX_WAIT_MS = 60000;
/** So long after a link or a button was used, its page may still come: a reload would stop it. */
const ANSWER_MS = 30000;
let failures = 0;
let leftAtMs = -Infinity;
addEventListener('beforeunload', () => (leftAtMs = Date.now()));

function hasTyped() {
  const isChanged = (field) => field.value !== field.defaultValue;
  return [...main.querySelectorAll('textarea, input:not([type=hidden])')].some(isChanged);
}

/**
 * Whether a reload would take something away: typed text, an open form, the menu, a question, or the
 * page that a link or a button has just asked for.
 */
const isInUse = () =>
  hasTyped() ||
  Date.now() - leftAtMs < ANSWER_MS ||
  document.querySelector(':popover-open, dialog[open], main details[open] form') !== null;

async function check() {
  if (!document.hidden) {
    try {
      const response = await fetch(main.dataset.live, { cache: 'no-store' });
      // The session has ended: what it showed does not stay on the screen.
      if (response.redirected) return location.reload();
      if (!response.ok) throw new Error(String(response.status));
      const { version } = await response.json();
      failures = 0;
      if (version !== main.dataset.version) {
        if (!isInUse()) {
          location.reload();
          return;
        }
        const message = document.querySelector('[data-changed]');
        message.textContent = message.dataset.changed;
      }
    } catch {
      failures += 1;
    }
  }
  setTimeout(check, Math.min(POLL_MS * 2 ** failures, MAX_WAIT_MS));
}

if (main) setTimeout(check, POLL_MS);
