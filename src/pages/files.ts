import { FAVICON } from './brand.ts';
import { FONT_ROUTES } from './fonts.ts';
import { ICONS } from './icons.ts';

export const PAGE_FILES = [...FONT_ROUTES, ICONS.route, FAVICON.route];
