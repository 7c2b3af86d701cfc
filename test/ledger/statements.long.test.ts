import { serviceTest } from '../support/service-test.ts';
import { proveStatements } from './statement-proof.ts';

const test = serviceTest({ time: 'real', worker: false, callbacks: false });

test('every day of 10,000 random orders is what the gateway has made, to the paisa', ({
  service,
}) => proveStatements(service, 10_000));
