import type { ComingConflict } from '../../calls/coming-conflicts.ts';
import { isoTime } from '../../core/clock.ts';
import { localTimeAt, timeOfDay } from '../../core/local-time.ts';
import type { CheckPorts } from '../automation-ports.ts';
import type { Act } from '../check/acts.ts';
import type { CheckedAutomation } from '../check/behaviour.ts';
import { actText, contentText, quotedName } from '../check/finding.ts';
import { deviceName } from '../home-things.ts';
import { durationText } from '../traces/time-words.ts';
import type { StepMoment } from './coming-steps.ts';

/** What an automation that the caller may see will do against a call. */
export interface Meeting {
  readonly automation: CheckedAutomation;
  readonly act: Act;
  readonly moment: StepMoment;
}

/** Returns a conflict in the form in which clients get it, with a sentence for people. */
export function conflictView(meeting: Meeting, ports: CheckPorts): ComingConflict {
  const { automation, act, moment } = meeting;
  const { when, atMs } = moment;
  const does = doesText(act, ports);
  const certain = isCertain(meeting);
  return {
    when,
    certain,
    device_id: act.device,
    agent_id: automation.id,
    name: automation.name,
    ...(atMs !== undefined && { at: isoTime(atMs) }),
    does,
    sentence: `${opening(quotedName(automation), { when, atMs, isCertain: certain }, ports)}: ${does}`,
  };
}

/** Returns whether neither conditions nor people decide whether an automation acts: people have to approve each time what is dangerous. */
export function isCertain({ act, moment }: Meeting): boolean {
  return moment.isCertain && act.effect.risk !== 'dangerous';
}

function opening(name: string, { when, atMs, isCertain: isSure }: StepMoment, ports: CheckPorts): string {
  const will = isSure ? 'will' : 'may';
  const at = atMs === undefined ? '' : ` at ${timeOfDay(localTimeAt(atMs, ports.timeZone).minutes)}`;
  if (when === 'at_time') return `${name} ${will} do this${at || ' within the hour'}`;
  if (when === 'after_wait') return `${name} is in a run that waits, and ${will} do this${at || ' when the wait ends'}`;
  const seconds = Math.round(((atMs ?? 0) - ports.clock.now()) / 1000);
  const later = seconds > 0 ? ` ${durationText(seconds)} later` : ' at once';
  return isSure ? `This call sets off ${name}, which will do this${later}` : `If this call sets off ${name}, it may do this${later}`;
}

/** Returns the conflict with automations that the caller may not see: only that there is one. */
export function hiddenConflict(device: string, ports: CheckPorts): ComingConflict {
  const sentence = `An automation that you may not see acts on ${deviceName(device, ports)}, and may want something different of it`;
  return { when: 'not_told', certain: false, device_id: device, sentence };
}

/** Returns what a step does to its target, with the value that it sets unless the action says it, such as to turn on. */
function doesText(act: Act, ports: CheckPorts): string {
  const isSaid = act.becomes === undefined || typeof act.becomes === 'boolean';
  return isSaid ? actText(act, ports) : `${actText(act, ports)} (${contentText(act, ports)})`;
}
