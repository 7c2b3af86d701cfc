/** A failure that the person at the terminal can repair: its message is all there is to print. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}
