// The page is whole without this. With it, the seconds run and the page follows the order.
const main = document.querySelector('main[data-poll-seconds]');
const LONGEST_WAIT_MS = 60000;
let timer;
let failures = 0;

/** A page on which the buyer has typed something is not taken away: it says a word instead. */
function follow() {
  const typed = [...document.querySelectorAll('textarea')].some((area) => area.value !== '');
  if (!typed) location.replace(main.dataset.page);
  const word = document.querySelector('[data-changed]');
  if (typed) word.textContent = word.dataset.changed;
}

async function look() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    const response = await fetch(main.dataset.status, { cache: 'no-store' });
    if (!response.ok) throw new Error(String(response.status));
    const { version } = await response.json();
    failures = 0;
    if (version !== main.dataset.version) {
      follow();
      return;
    }
  } catch {
    failures += 1;
  }
  lookLater();
}

function lookLater() {
  const waitMs = Number(main.dataset.pollSeconds) * 1000 * 2 ** failures;
  timer = setTimeout(look, Math.min(waitMs, LONGEST_WAIT_MS));
}

/** Counts from when the page came, so that a phone whose clock is wrong shows the right time. */
function runClock(clock) {
  const endsAtMs = Date.now() + Number(clock.dataset.secondsLeft) * 1000;
  const tick = () => {
    const left = Math.max(0, Math.round((endsAtMs - Date.now()) / 1000));
    clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
    if (left > 0) return;
    clearInterval(ticking);
    void look();
  };
  const ticking = setInterval(tick, 1000);
}

if (main) {
  lookLater();
  // The buyer comes back from the UPI app: what matters has just happened there.
  document.addEventListener('visibilitychange', look);
  addEventListener('pageshow', (event) => event.persisted && look());
  const clock = document.querySelector('[data-seconds-left]');
  if (clock) runClock(clock);
}
