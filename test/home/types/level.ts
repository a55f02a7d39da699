/** Full brightness, 1 to 254. */
export const LEVEL = { currentLevel: 254, minLevel: 1, maxLevel: 254, onLevel: null, startUpCurrentLevel: null };
