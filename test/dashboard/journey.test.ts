import { journeyWith } from './journey.ts';

await journeyWith('with JavaScript', { javaScriptEnabled: true });
