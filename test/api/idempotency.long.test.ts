import { describe } from 'vitest';
import { testEqualRequests } from './equal-requests.ts';
import { twoProcessTest } from './two-apis.ts';

const test = twoProcessTest();

describe('fifty equal requests over two processes', () => testEqualRequests(test, 50));
