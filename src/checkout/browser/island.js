// Progressive enhancement: counts the time down, and reloads the page when the order changes.
const main = document.querySelector('main[data-first-seconds]');
const firstMs = Number(main?.dataset.firstSeconds) * 1000;
const mostMs = Number(main?.dataset.mostSeconds) * 1000;
let waitMs = firstMs;
let timer;
/** So long after a link or a button was used, its page may still come: a reload would stop it. */
const ANSWER_MS = 30000;
let leftAtMs = -Infinity;
addEventListener('beforeunload', () => (leftAtMs = Date.now()));

/** Reloads the page. If the buyer has typed something, shows a message instead. */
function showChange() {
  const typed = [...document.querySelectorAll('textarea')].some((area) => area.value !== '');
  if (!typed) location.replace(main.dataset.page);
  const message = document.querySelector('[data-changed]');
  if (typed) message.textContent = message.dataset.changed;
}

async function checkStatus() {
  clearTimeout(timer);
  // A page in the background asks nothing until it is shown again.
  if (document.hidden) return;
  try {
    const response = await fetch(main.dataset.status, { cache: 'no-store' });
    if (!response.ok) throw new Error(String(response.status));
    const { version } = await response.json();
    if (version !== main.dataset.version && Date.now() - leftAtMs >= ANSWER_MS) {
      showChange();
      return;
    }
    waitMs = Math.min(waitMs * 1.1, mostMs);
  } catch {
    // The service is away or has too much to do.
    waitMs = Math.min(waitMs * 2, Math.max(mostMs, 60000));
  }
  scheduleCheck();
}

function scheduleCheck() {
  clearTimeout(timer);
  timer = setTimeout(checkStatus, waitMs);
}

function checkAtOnce() {
  waitMs = firstMs;
  void checkStatus();
}

/** The buyer comes back, perhaps from the UPI app, where the payment was just made. */
function comeBack() {
  leftAtMs = -Infinity;
  checkAtOnce();
}

/** Counts from the page load, so that the result does not depend on the phone's clock. */
function runClock(clock) {
  const endsAtMs = Date.now() + Number(clock.dataset.secondsLeft) * 1000;
  const tick = () => {
    const left = Math.max(0, Math.round((endsAtMs - Date.now()) / 1000));
    clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
    if (left > 0) return;
    clearInterval(ticking);
    checkAtOnce();
  };
  const ticking = setInterval(tick, 1000);
}

/** A browser inside another app often ignores a link to an app: the page is then still in front after this time. */
const NOT_OPENED_AFTER_MS = 2000;

/** Says so when a link to a UPI app has opened none. */
function watchOpening(message) {
  let opening;
  const stop = () => clearTimeout(opening);
  const say = () => {
    if (!document.hidden) message.textContent = message.dataset.notOpened;
  };
  message.parentElement.addEventListener('click', (event) => {
    if (!event.target.closest('a')) return;
    stop();
    message.textContent = '';
    opening = setTimeout(say, NOT_OPENED_AFTER_MS);
  });
  document.addEventListener('visibilitychange', stop);
  addEventListener('pagehide', stop);
  addEventListener('blur', stop);
}

/** Copies the UPI address. Where the browser refuses it, the address is selected, to copy it by hand. */
async function copyAddress(button) {
  const address = button.parentElement.querySelector('code');
  try {
    await navigator.clipboard.writeText(address.textContent);
  } catch {
    getSelection().selectAllChildren(address);
    if (!document.execCommand('copy')) return;
  }
  button.firstElementChild.textContent = button.dataset.copied;
}

const copyButton = document.querySelector('[data-copied]');
if (copyButton) {
  copyButton.hidden = false;
  copyButton.addEventListener('click', () => copyAddress(copyButton));
}
const notOpened = document.querySelector('[data-not-opened]');
if (notOpened) watchOpening(notOpened);

if (main) {
  scheduleCheck();
  document.addEventListener('visibilitychange', comeBack);
  addEventListener('pageshow', (event) => event.persisted && comeBack());
  const clock = document.querySelector('[data-seconds-left]');
  if (clock) runClock(clock);
}
