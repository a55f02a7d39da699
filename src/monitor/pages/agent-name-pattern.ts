import { AGENT_NAME } from '../../core/access/agent-id.ts';

/** AGENT_NAME as the `pattern` of a field, which is anchored by itself and read with the flag `v`: there a hyphen of a class is escaped. */
export const AGENT_NAME_PATTERN = AGENT_NAME.source.replace(/^\^|\$$/g, '').replace('-]{', '\\-]{');
