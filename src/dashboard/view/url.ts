import type { ComponentChildren } from 'preact';
import { createContext, h } from 'preact';
import { useContext } from 'preact/hooks';
import { iconAt } from '../../pages/brand.ts';
import type { IconName } from '../../pages/icons.ts';
import { WithTyped } from './typed.ts';

/** The path of the service's public URL: a reverse proxy removes it before the service sees it. */
const PathPrefix = createContext('');

/** Gives the links and forms of a page the path of the service's public URL. */
export function withPathPrefix(pathPrefix: string, children: ComponentChildren) {
  return h(PathPrefix.Provider, { value: pathPrefix }, children);
}

/** An element with a path of the service in one of its attributes. */
function AtPath({ tag, attribute, path, children, ...rest }: PathElement) {
  return h(tag, { [attribute]: useContext(PathPrefix) + path, ...rest }, children);
}

interface PathElement {
  tag: 'a' | 'img' | 'object';
  attribute: 'href' | 'src' | 'data';
  path: string;
  children?: ComponentChildren;
  [other: string]: unknown;
}

/** The attributes of a link beside its target. */
interface LinkAttributes {
  class?: string;
  rel?: string;
  download?: string;
  title?: string;
  'aria-current'?: 'page';
  'aria-label'?: string;
  /** Closes the dialog that the link is in. */
  'data-close'?: '';
}

/** A link to another page of the service. @param to its path, such as `/dashboard/login` */
export function link(to: string, text: ComponentChildren, attributes: LinkAttributes = {}) {
  return h(AtPath, { tag: 'a', attribute: 'href', path: to, ...attributes }, text);
}

/** A picture that the service serves at a path; the browser loads it when it is about to be seen. */
export function picture(path: string, alt: string) {
  return h(AtPath, { tag: 'img', attribute: 'src', path, loading: 'lazy', alt });
}

/**
 * A PDF of the service inside the page, which is rendered with `embedsFiles`.
 *
 * @param otherwise what a browser shows that has no reader for PDFs, such as those of most phones
 */
export function embeddedPdf(path: string, label: string, otherwise: ComponentChildren) {
  const attributes = { type: 'application/pdf', 'aria-label': label };
  return h(AtPath, { tag: 'object', attribute: 'data', path, ...attributes }, otherwise);
}

interface FormAttributes {
  /** GET for a search; POST for a change. */
  method?: 'get' | 'post';
  class?: string;
  id?: string;
  enctype?: 'multipart/form-data';
  'aria-label'?: string;
  /** The server asks before it does what the form says: see `confirmationView`. */
  'data-asks'?: '' | undefined;
}

function Form({
  action,
  children,
  ...rest
}: { action: string; children?: ComponentChildren } & FormAttributes) {
  const target = useContext(PathPrefix) + action;
  const content = rest.method === 'get' ? children : h(WithTyped, { action }, children);
  return h('form', { method: 'post', action: target, ...rest }, content);
}

/** A form that posts to a path of the service. */
export function form(action: string, attributes: FormAttributes, ...children: ComponentChildren[]) {
  return h(Form, { action, ...attributes }, children);
}

function Icon({ name }: { name: IconName }) {
  return iconAt(useContext(PathPrefix), name);
}

/** An icon beside a text that says the same; screen readers skip it. */
export function icon(name: IconName) {
  return h(Icon, { name });
}

/** A path with a query; empty and absent fields are left out. */
export function pathWith(
  path: string,
  query: Readonly<Record<string, string | undefined>>,
): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
