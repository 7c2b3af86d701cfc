// Progressive enhancement: counts the time down, and reloads the page when the order changes.
const main = document.querySelector('main[data-poll-seconds]');
const MAX_WAIT_MS = 60000;
let timer;
let failures = 0;

/** Reloads the page. If the buyer has typed something, shows a message instead. */
function showChange() {
  const typed = [...document.querySelectorAll('textarea')].some((area) => area.value !== '');
  if (!typed) location.replace(main.dataset.page);
  const message = document.querySelector('[data-changed]');
  if (typed) message.textContent = message.dataset.changed;
}

async function checkStatus() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    const response = await fetch(main.dataset.status, { cache: 'no-store' });
    if (!response.ok) throw new Error(String(response.status));
    const { version } = await response.json();
    failures = 0;
    if (version !== main.dataset.version) {
      showChange();
      return;
    }
  } catch {
    failures += 1;
  }
  scheduleCheck();
}

function scheduleCheck() {
  const waitMs = Number(main.dataset.pollSeconds) * 1000 * 2 ** failures;
  timer = setTimeout(checkStatus, Math.min(waitMs, MAX_WAIT_MS));
}

/** Counts from the page load, so that the result does not depend on the phone's clock. */
function runClock(clock) {
  const endsAtMs = Date.now() + Number(clock.dataset.secondsLeft) * 1000;
  const tick = () => {
    const left = Math.max(0, Math.round((endsAtMs - Date.now()) / 1000));
    clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
    if (left > 0) return;
    clearInterval(ticking);
    void checkStatus();
  };
  const ticking = setInterval(tick, 1000);
}

if (main) {
  scheduleCheck();
  // The buyer returns from the UPI app, where the payment was just made.
  document.addEventListener('visibilitychange', checkStatus);
  addEventListener('pageshow', (event) => event.persisted && checkStatus());
  const clock = document.querySelector('[data-seconds-left]');
  if (clock) runClock(clock);
}
