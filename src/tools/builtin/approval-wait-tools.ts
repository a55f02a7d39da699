import { type ApprovalWaitChoices, type ApprovalWaits, LONGEST_WAIT_MS, WAIT_KINDS } from '../../core/auth/approvals.ts';
import type { Risk } from '../../core/auth/principal.ts';
import { defineTool, INTEGER, p, resultSchema } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { ACTS_ON_HUB, READS_WHOLE_HUB } from './hub-tool.ts';

const MINUTE_MS = 60_000;
const WAITS = resultSchema({ devices: INTEGER, programs: INTEGER, administration: INTEGER, other: INTEGER });
const LIMITS = { minimum: 1, maximum: LONGEST_WAIT_MS / MINUTE_MS } as const;

/** Returns the tools with which the owner chooses how long requests for approval may wait. */
export function approvalWaitTools(waits: ApprovalWaitChoices): readonly RegisteredTool[] {
  return [showWaitsTool(waits), setWaitsTool(waits)];
}

function showWaitsTool(waits: ApprovalWaitChoices): RegisteredTool {
  return defineTool(
    {
      ...READS_WHOLE_HUB,
      name: 'show_approval_waits',
      title: 'How long requests for approval wait',
      description: 'Tells for how many minutes requests for approval wait for people, by what they touch.',
      parameters: {},
      returns: WAITS,
    },
    async () => inMinutes(waits.current()),
  );
}

function setWaitsTool(waits: ApprovalWaitChoices): RegisteredTool {
  const minutes = (description: string) =>
    p.integer({ description: `${description}; as the configuration says if absent`, ...LIMITS }).optional();
  return defineTool(
    {
      ...ACTS_ON_HUB,
      name: 'set_approval_waits',
      title: 'Choose how long requests for approval wait',
      description:
        'Sets for how many minutes new requests for approval wait for people. Locks, valves and other openings wait ten minutes at most, whatever is set.',
      isIdempotent: true,
      parameters: {
        devices: minutes('Lamps, heating and other devices'),
        programs: minutes('Programs'),
        administration: minutes('Administration of the hub'),
        other: minutes('Anything else'),
      },
      returns: WAITS,
      effects: (wanted) => [{ permission: 'admin:hub', risk: riskOf(waits, inMs(wanted)), target: 'hub:set_approval_waits' }],
    },
    async (wanted) => {
      waits.choose(inMs(wanted));
      return inMinutes(waits.current());
    },
  );
}

/** Returns `dangerous` if a kind of requests would wait longer than now, since people then decide later what they were asked. */
function riskOf(waits: ApprovalWaitChoices, wanted: Partial<ApprovalWaits>): Risk {
  const [now, next] = [waits.current(), { ...waits.configured, ...wanted }];
  const isLonger = WAIT_KINDS.some((kind) => next[kind] > now[kind]);
  return isLonger ? 'dangerous' : 'low';
}

type Minutes = { readonly [kind in keyof ApprovalWaits]?: number | undefined };

function inMs(minutes: Minutes): Partial<ApprovalWaits> {
  const given = WAIT_KINDS.flatMap((kind) => (minutes[kind] === undefined ? [] : [[kind, minutes[kind] * MINUTE_MS] as const]));
  return Object.fromEntries(given);
}

function inMinutes(waits: ApprovalWaits): ApprovalWaits {
  return Object.fromEntries(WAIT_KINDS.map((kind) => [kind, waits[kind] / MINUTE_MS])) as ApprovalWaits;
}
