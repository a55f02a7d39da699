import type { PromptArgument } from './prompt-source.ts';

/** An argument of a chore, and where its values come from. */
interface ChoreArgument extends PromptArgument {
  readonly of: 'area' | 'device' | 'time' | 'text';
}

/** A common task at home, in words for a model. */
export interface Chore {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly ChoreArgument[];
  /** What the model is asked; arguments come quoted, absent ones as an empty text. */
  text(given: Readonly<Record<string, string>>): string;
}

const area = (required: boolean): ChoreArgument => ({ name: 'area', description: 'Room or other area of the home', required, of: 'area' });
const HOW =
  'Find out what is there with home_overview, search_tools and the resources of this server before you act. Use the ids that you found, ' +
  'never guess one. What waits for the approval of a person stays as it is until the person agrees: say so, and go on with the rest.';
const where = (name: string | undefined): string => (name ? ` in ${name}` : ' at home');

/** The chores, in the order in which they are listed. */
export const CHORES: readonly Chore[] = [
  {
    name: 'good_night',
    title: 'Good night',
    description: 'Puts the home to sleep: lights off, covers closed, heating down; tells what is still open or unlocked',
    arguments: [{ name: 'keep_on', description: 'What stays as it is, in words', required: false, of: 'text' }],
    text: ({ keep_on: keep }) =>
      `Put the home to sleep for the night. Turn off the lights, close the covers, and lower the heating where it can be lowered.${keep ? ` Leave as it is: ${keep}.` : ''} ` +
      `Do not unlock anything. Then tell in a few lines what you changed, and which doors or windows are open, which locks are not locked, and what you could not reach. ${HOW}`,
  },
  {
    name: 'morning_briefing',
    title: 'Morning briefing',
    description: 'A short report of the night: temperatures, air, open doors and windows, low batteries, devices that do not answer',
    arguments: [area(false)],
    text: ({ area: name }) =>
      `Give me a short morning briefing of what happened${where(name)} during the last 12 hours: temperatures and air, doors and windows that are open, ` +
      `low batteries, alarms, devices that do not answer. Begin with what needs attention; change nothing. ${HOW}`,
  },
  {
    name: 'leaving_home',
    title: 'Leaving home',
    description: 'Checks and prepares the home for being away: lights and appliances off, heating down, what is open or unlocked',
    arguments: [{ name: 'until', description: 'When somebody is back, such as 18:00 or Sunday', required: false, of: 'text' }],
    text: ({ until }) =>
      `I am leaving home${until ? ` until ${until}` : ''}. Turn off lights and appliances that need not run, lower the heating, and lock what can be locked. ` +
      `Then tell what is still open, on or unlocked, so that I can see to it before I go. ${HOW}`,
  },
  {
    name: 'energy_report',
    title: 'Energy report',
    description: 'What used how much power over a time, what runs for nothing, and what could be saved',
    arguments: [{ name: 'since', description: 'How far back, such as 24h or 7d', required: false, of: 'time' }],
    text: ({ since }) =>
      `Report the use of energy over the last ${since || '"24h"'}: read the history of each power and energy sensor in buckets, name the biggest users and their share, ` +
      `what was on without need, and what could be saved. Give numbers with units, and say which devices measure nothing. Change nothing. ${HOW}`,
  },
  {
    name: 'anything_unusual',
    title: 'Anything unusual?',
    description: 'Looks for what is not as it usually is: values out of the ordinary, devices that do not answer, things left on or open',
    arguments: [area(false)],
    text: ({ area: name }) =>
      `Is anything unusual${where(name)}? Compare the present readings with their history of the last 7 days, look for devices that do not answer, ` +
      `values that have not moved although they should, and what was left on or open. Name each finding with the numbers behind it; say it plainly when there is none. Change nothing. ${HOW}`,
  },
  {
    name: 'room_comfort',
    title: 'Make a room comfortable',
    description: 'Looks at temperature, humidity, air and light of a room and improves what can be improved',
    arguments: [area(true)],
    text: ({ area: name }) =>
      `Make it comfortable in ${name}: look at temperature, humidity, air and light, say what is off and why, then set what can be set with small steps. ` +
      `Tell what you changed and from what to what. ${HOW}`,
  },
  {
    name: 'device_checkup',
    title: 'Check a device',
    description: 'Why does it not work: reachability, age of its values, battery, recent failures, and what to try next',
    arguments: [{ name: 'device', description: 'Id or name of the device', required: true, of: 'device' }],
    text: ({ device }) =>
      `Check the device ${device}: does it answer, how old are its values, how is its battery, what failed lately? Try nothing that changes its state without asking me. ` +
      `Say in plain words what is wrong and what I can do, in order. ${HOW}`,
  },
];
