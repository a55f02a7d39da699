/** The rooms of the home, each with a lamp, a plug, a cover, a heating, a sensor and a button. */
export const ROOMS = ['kitchen', 'hall', 'bedroom', 'bath', 'study', 'attic'] as const;

/** The scenes, each with the lamps that it turns off. */
export const SCENES: Readonly<Record<string, readonly string[]>> = {
  night: ['kitchen-lamp', 'hall-lamp', 'bath-lamp'],
  upstairs_off: ['bedroom-lamp', 'study-lamp', 'attic-lamp'],
};
