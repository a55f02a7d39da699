/**
 * Words that values of devices had before they were called plainly, and the words of today. What an owner wrote into rules, grants,
 * automations and calls with the former ones means the same; `rename` in device-profiles says the same for what devices tell.
 */
export const FORMER_WORDS: Readonly<Record<string, string>> = {
  is_charging: 'charging',
  is_not_charging: 'not_charging',
  is_at_full_charge: 'full',
  move_to_fully_closed: 'closed',
  move_to_fully_open: 'open',
  move_to_pedestrian_position: 'pedestrian',
  move_to_ventilation_position: 'ventilation',
  move_to_signature_position: 'signature',
  current_hue_and_current_saturation: 'hue_and_saturation',
  current_x_and_current_y: 'chromaticity',
  color_temperature_mireds: 'color_temperature',
  setpoint_hold_on: 'on',
  setpoint_hold_off: 'off',
  no_lockout: 'unlocked',
  lockout1: 'level_1',
  lockout2: 'level_2',
  lockout3: 'level_3',
  lockout4: 'level_4',
  lockout5: 'level_5',
  numbers1: '1',
  numbers2: '2',
  numbers3: '3',
  numbers4: '4',
  numbers5: '5',
  numbers6: '6',
  numbers7: '7',
  numbers8: '8',
  numbers9: '9',
  number11: '11',
  number12: '12',
  number0_or_number10: '0',
  f1_blue: 'blue',
  f2_red: 'red',
  f3_green: 'green',
  f4_yellow: 'yellow',
};

/** The word of today for a word that a value has or had, in any letter case; every other text in lower case. */
export function plainWord(text: string): string {
  const word = text.toLowerCase();
  return Object.hasOwn(FORMER_WORDS, word) ? (FORMER_WORDS[word] ?? word) : word;
}
