import { builtProgram } from './built-program.ts';

/** The program `atmo` that tests start: hubs, and the command line beside them. */
export const MAIN = await builtProgram('src/main.ts');
