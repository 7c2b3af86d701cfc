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

/** Ticks all boxes of a form. */
for (const box of document.querySelectorAll('[data-select-all]')) {
  box.hidden = false;
  box.addEventListener('change', () => {
    for (const one of box.closest('form').querySelectorAll('input[type=checkbox]')) {
      one.checked = box.checked;
    }
  });
}

// A live page: reloads itself when it has changed, unless something was typed.
const main = document.querySelector('main[data-live]');
const POLL_MS = 5000;
const MAX_WAIT_MS = 60000;
let failures = 0;

function hasTyped() {
  const isChanged = (field) => field.value !== field.defaultValue;
  return [...main.querySelectorAll('textarea, input:not([type=hidden])')].some(isChanged);
}

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
        if (!hasTyped()) {
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
