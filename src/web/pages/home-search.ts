import { typeWords } from '../components/formatting.ts';
import { hasText, text } from '../texts/text.ts';
import type { HomeDevice } from './home-areas.ts';

/** Returns whether a device is meant by the words of a search: each word is in its names, its room, its floor or its kind. */
export function isDeviceFound({ device, tile }: HomeDevice, words: string): boolean {
  const kind = `tiles.kind_${tile.icon}`;
  const places = [device.area ?? '', device.floor ?? ''];
  return isFound([device.name, ...tile.aliases, ...places, ...device.device_types.map(typeWords), hasText(kind) ? text(kind) : ''], words);
}

/** Returns whether each word of a search is in one of the texts. Capital letters and accents do not matter. */
export function isFound(texts: readonly string[], words: string): boolean {
  const all = plain(texts.join(' '));
  return plain(words)
    .split(/\s+/)
    .every((word) => all.includes(word));
}

function plain(words: string): string {
  return words.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, '').trim();
}
