import { journeyWith } from './journey.ts';

await journeyWith('with JavaScript off', { javaScriptEnabled: false });
