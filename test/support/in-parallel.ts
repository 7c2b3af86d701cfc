export { inParallel } from '../../dev/load/in-parallel.ts';
