import { once } from 'node:events';
import { connect } from 'node:net';

/** How often a slow client sends a byte. */
const DRIP_MS = 100;

/**
 * Opens a connection that sends a byte from time to time and never finishes. `answer` is what it has
 * received when the server has closed it.
 */
export async function drip(port: number, start: string) {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => chunks.push(chunk));
  // `once` would reject with the reset of a server that has answered and closed.
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await once(socket, 'connect');
  socket.write(start);
  const timer = setInterval(() => socket.write('x'), DRIP_MS);
  const answer = closed.then(() => {
    clearInterval(timer);
    return Buffer.concat(chunks).toString();
  });
  return { socket, answer };
}
