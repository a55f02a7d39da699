/** A way to say something, and the plain words for it; `$1` is what stands where the place or thing does. */
interface Idiom {
  readonly pattern: RegExp;
  readonly plain: string;
}

/** Behind a quality that is meant itself: `dark blue` is a colour. */
const AT_THE_END = String.raw`(?=\s*(?:$|[.,!?;])|\s+(?:in|at|on|for|so|please|now|here|there|again|upstairs|downstairs|outside|bitte|im|am|auf|unten|oben)\b)`;
const WISH = String.raw`\b(?:make|keep|have|get|want|need|like)\s+`;
const WHAT = String.raw`(?:it\s+|everything\s+|(?:the\s+|my\s+)?([\p{L}\d'’ -]{1,40}?)\s+)`;
const VERY = String.raw`(?:(?:all|very|really|totally|completely|pitch|nice and)\s+)*`;
const DEGREE = String.raw`(?:(?:a bit|a little|much|way|far)\s+)?(?:too|so|very|getting|pretty|quite|really)\s+(?:too\s+|very\s+)?`;

const IDIOMS: readonly Idiom[] = [
  // Rooms get dark when their lights go out, not when these are dimmed.
  idiom(`${WISH}${WHAT}${VERY}(?:dark|pitch[- ]black)${AT_THE_END}`, 'turn off the light $1'),
  idiom(String.raw`\bmach\w*\s+(?:es\s+|alles\s+|(?:das|den|die)\s+([\p{L} -]{1,40}?)\s+)(?:ganz\s+)?dunkel${AT_THE_END}`, 'Licht aus $1'),
  // Who complains of the dark wants light, and a name that is `dark` is not meant.
  idiom(String.raw`\b(?:it(?:['’]?s| is)\s+)?${DEGREE}dark${AT_THE_END}`, 'more light'),
  idiom(String.raw`\b(?:es\s+ist\s+)?(?:viel\s+)?zu\s+dunkel${AT_THE_END}`, 'more light'),
  idiom(String.raw`\blet there be light\b`, 'turn on the light'),
  // A slip that makes a thing of it: nobody looks for the switch of a television.
  idiom(String.raw`\b(turn|switch|shut)\s+of\b`, '$1 off'),
  idiom(String.raw`\blights?\s+out\b`, 'turn off the light'),
  // What opens a door's lock in German begins like what closes the door.
  idiom(String.raw`\b(?:schlie(?:ß|ss)e?|sperre?)\s+([\p{L} -]{1,40}?)\s+auf\b`, 'entriegle $1'),
  idiom(String.raw`\b(?:schlie(?:ß|ss)e?|sperre?)\s+([\p{L} -]{1,40}?)\s+ab\b`, 'verriegle $1'),
  idiom(String.raw`\bsend\s+((?:the |my )?[\p{L}\d -]{1,40}?)\s+(?:back\s+)?home\b`, 'send home $1'),
  // Frost is measured in pipes; who says this in a room is cold.
  idiom(String.raw`\bit(?:['’]?s| is)\s+(?:so |absolutely |really )?freezing\b(?!\s+(?:outside|out there))`, 'it is too cold'),
  // What waters is a valve, and no heater of water.
  idiom(String.raw`\b(?:stop|finish|quit|end)\s+(?:the\s+)?(?:watering|irrigati(?:ng|on))\b`, 'close the valve'),
  idiom(String.raw`\b(?:start|begin)\s+(?:the\s+)?(?:watering|irrigati(?:ng|on))\b`, 'open the valve'),
  // `time` is the word of other tools.
  idiom(String.raw`\bbed\s?time\b`, 'good night'),
];

/** The sentence in words that say what is to be done. */
export function plainlySaid(sentence: string): string {
  return IDIOMS.reduce((text, { pattern, plain }) => text.replace(pattern, plain), sentence);
}

function idiom(source: string, plain: string): Idiom {
  return { pattern: new RegExp(source, 'giu'), plain };
}
