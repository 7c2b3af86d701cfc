import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Koa from 'koa';
import { Router } from '@koa/router';
import { baseStyle } from '../../src/pages/base-style.ts';
import type { SignInCode } from './pages.ts';
import { listPage, mailPage, problemPage, STYLE_PATH } from './pages.ts';
import type { MailStore } from './store.ts';

const STYLE = baseStyle('../..') + readFileSync(new URL('./mailbox.css', import.meta.url), 'utf8');
const SHOWN_MAILS = 50;

const POLICY =
  "default-src 'none'; style-src 'self'; img-src data:; frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** A mail's own page runs no script, loads nothing, and its links open elsewhere. */
const MAIL_POLICY =
  "sandbox allow-popups; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'";

const HEADERS = {
  // Mails contain links that sign their recipients in.
  'Cache-Control': 'no-store',
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** The names by which this machine's browser reaches the page; see {@link refuseOtherNames}. */
const NAMES = ['127.0.0.1', 'localhost', '[::1]'];

/** Refuses a foreign name that resolves to this machine: with it another site could read mails. */
const refuseOtherNames: Koa.Middleware = async (ctx, next) => {
  ctx.set(HEADERS);
  if (NAMES.includes(ctx.hostname) || ctx.hostname === '::1') return next();
  ctx.status = 403;
  ctx.body = problemPage(`Open this page as ${NAMES[0]}`);
};

/**
 * The pages that show mails, as an HTTP server.
 *
 * @param readCodes the current two-factor codes of demo users
 */
export function createMailboxServer(store: MailStore, readCodes: () => SignInCode[]) {
  const router = new Router();
  router.get('/', async (ctx) => {
    ctx.body = listPage(await store.latest(SHOWN_MAILS), readCodes());
  });
  router.get('/mails/:id', async (ctx) => {
    const mail = await store.find(ctx.params['id'] ?? '');
    ctx.status = mail ? 200 : 404;
    ctx.body = mail ? mailPage(mail) : problemPage('There is no such mail');
  });
  router.get('/mails/:id/html', async (ctx) => {
    const mail = await store.find(ctx.params['id'] ?? '');
    ctx.status = mail ? 200 : 404;
    ctx.set('Content-Security-Policy', MAIL_POLICY);
    ctx.type = 'html';
    ctx.body = mail ? mail.html.replace('<head>', '<head><base target="_blank">') : '';
  });
  router.get(STYLE_PATH, (ctx) => {
    ctx.type = 'css';
    ctx.body = STYLE;
  });
  const app = new Koa();
  app.use(refuseOtherNames).use(router.routes());
  return createServer((request, response) => void app.callback()(request, response));
}
