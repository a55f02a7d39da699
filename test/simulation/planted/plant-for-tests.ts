import { plant } from './plant.ts';

/** Plants the bug that the environment names, in each process of the ordinary tests (`node --import`). */
const { PLANTED_BUG } = process.env;
if (PLANTED_BUG !== undefined) plant(PLANTED_BUG);
