/** A complete response, as a browser without JavaScript gets it. */
export interface PageAnswer {
  status: number;
  url: string;
  headers: Headers;
  html: string;
}

async function read(response: Response): Promise<PageAnswer> {
  const { status, url, headers } = response;
  return { status, url, headers, html: await response.text() };
}

export async function open(url: string): Promise<PageAnswer> {
  return read(await fetch(url));
}

/** Sends a form, and by default follows its redirect. */
export async function post(
  url: string,
  fields: Record<string, string> = {},
  init: RequestInit = {},
): Promise<PageAnswer> {
  const headers = { 'Sec-Fetch-Site': 'same-origin' };
  const body = new URLSearchParams(fields);
  return read(await fetch(url, { method: 'POST', body, headers, ...init }));
}

export function textOf(html: string): string {
  const text = html
    .replace(/^.*<body>/s, '')
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&');
  return text.replaceAll(/\s+/g, ' ').trim();
}
