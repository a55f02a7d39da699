import { ENGLISH_CALL } from '../../core/devices/call-words.ts';
import { quoted } from '../../core/untrusted-text.ts';
import { clockTime, dateText, type NoticeTexts } from './notice-texts.ts';

const HOUR_MS = 3_600_000;

/** The notices in English. */
export const en: NoticeTexts = {
  call: ENGLISH_CALL,
  approval: {
    title: 'Approval needed',
    text: ({ agent, hub, call, count, untilMs, nowMs }) => {
      const more = count === 1 ? '' : ` (${count} requests like this wait)`;
      const until = untilText(untilMs, nowMs);
      const who = hub === undefined ? agent : `${agent} of the hub ${quoted(hub)}`;
      return `${who} wants: ${call}${more}. Decide until ${until}.`;
    },
  },
  question: {
    title: (name) => `Question from ${name}`,
    text: ({ text, answers, untilMs, nowMs }) => `${text} (${answers.join(' / ')}) Answer until ${untilText(untilMs, nowMs)}.`,
  },
  message: { title: (name) => `Message from ${name}` },
  leak: { title: 'Water leak', text: (where) => `${where} senses water. Turn off the water and go and look.` },
  smoke: { title: 'Smoke alarm', text: (where) => `${where} senses smoke. If it burns, leave the house and call the fire brigade.` },
  carbonMonoxide: {
    title: 'Carbon monoxide',
    text: (where) => `${where} senses carbon monoxide. Open a window and leave the house at once.`,
  },
  battery: { title: 'Battery low', text: (where) => `The battery of ${where} is low.` },
  lock: {
    title: 'Lock',
    alarms: {
      LockJammed: (where) => `${where} is jammed`,
      LockFactoryReset: (where) => `${where} was reset to its factory settings`,
      LockRadioPowerCycled: (where) => `${where} switched its radio off and on`,
      WrongCodeEntryLimit: (where) => `${where} got wrong codes too often`,
      FrontEsceutcheonRemoved: (where) => `${where} lost its front cover`,
      DoorForcedOpen: (where) => `${where} reports that its door was forced open`,
      DoorAjar: (where) => `${where} reports that its door stands open`,
      ForcedUser: (where) => `${where} was opened with the emergency code`,
    },
    text: (alarm) => `${alarm}. Go and look.`,
  },
  lost: {
    title: 'Device does not answer',
    text: (where, forMs) => `${where} has not answered for ${hoursText(forMs)}. Look at its power and its distance to the hub.`,
  },
  agents: {
    named: { automation: (name) => `The automation ${name}`, agent: (name) => `The agent ${name}` },
    stoppedTitle: { automation: 'Automation stopped', agent: 'Agent stopped' },
    failedTitle: { automation: 'Automation failed', agent: 'Agent failed' },
    endingTitle: { automation: 'Automation is about to end', agent: 'Agent is about to end' },
    stopped: (what, reason) => `${what} has stopped: ${reason}.`,
    failed: (what, problem, isPaused) => `${what} failed: ${problem}.${isPaused ? ' It pauses and tries again later.' : ''}`,
    ending: (what, atMs) => `${what} ends on ${dayText(atMs)}.`,
    causes: {
      lifetime_over: 'its time is over',
      token_revoked: 'its token, or one that it comes from, was revoked',
      token_invalid: 'its token is not valid any more',
    },
    unknown: 'the reason is not known',
  },
  proposal: {
    title: 'Automation proposed',
    text: (agent, name) => `${agent} proposes the automation ${name}. It runs only once somebody accepts it.`,
  },
  token: {
    title: 'A token is about to end',
    text: (agent, atMs) => `The token of ${agent} ends on ${dayText(atMs)}. Make a new one if it is still needed.`,
  },
  certificate: {
    title: 'A certificate is about to end',
    text: {
      authority: (atMs) => `The certificate of the page ends on ${dayText(atMs)}. Every browser has to trust the new one.`,
      page: (atMs) => `The certificate of the page ends on ${dayText(atMs)}. Put a new one in the place of its files.`,
      name: (atMs) => `The certificate of the hub's name ends on ${dayText(atMs)}. The hub tries again and again to renew it.`,
      mesh: (atMs) =>
        `The certificate of this hub in its mesh ends on ${dayText(atMs)}. Start the hub that let it in, which renews it, or run atmo mesh renew.`,
    },
    notRenewed: {
      title: 'A certificate was not renewed',
      text: (problem) => `${problem}. The hub tries again by itself, and at once after a restart.`,
    },
  },
  backup: { title: 'Backup overdue', text: (problem) => problem },
  update: {
    title: 'Update available',
    text: (device, version) => `Version ${version} can be installed on ${device}.`,
    hub: (version) => `Version ${version} of the hub can be installed.`,
    notKept: {
      title: 'Upgrade of the hub not kept',
      text: (version, isPossible) =>
        isPossible
          ? `Version ${version} of the hub did not come up, or was not wanted. The version before runs again.`
          : `Version ${version} of the hub did not come up at first, and there was no way back to the version before.`,
    },
  },
  disk: {
    title: 'Disk nearly full',
    text: (freeMiB) =>
      `Only ${freeMiB} MiB are free on the disk of the hub. Delete old files, or the hub will soon be unable to store anything.`,
  },
  tool: { title: 'Tool used', text: (who, tool, atMs) => `${who} used ${tool} at ${clockTime(atMs)}.` },
};

/** Returns a time of day, with the day unless it is today. */
function untilText(untilMs: number, nowMs: number): string {
  const day = dayText(untilMs);
  return day === dayText(nowMs) ? clockTime(untilMs) : `${clockTime(untilMs)} on ${day}`;
}

function dayText(atMs: number): string {
  return dateText(atMs, 'en-GB');
}

function hoursText(ms: number): string {
  const hours = Math.floor(ms / HOUR_MS);
  if (hours < 48) return hours === 1 ? 'an hour' : `${hours} hours`;
  return `${Math.floor(hours / 24)} days`;
}
