/** Words that say nothing about what somebody looks for, by their text. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    'make makes made making turn put get bring the a an to in of for and or is it its at please my me i you your our us we can could would will should shall with from by be been am are was were this that these those there here some so too just now right hey hi hello ok okay thanks thank want need like let get go do does did have has had if then than as into onto over on off up down out about hows whats what which who whom how when where why t s ll ve re d m im id lets gonna wanna kindly quickly again still very really bit little one ones any anything something currently today tonight don doesn didn isn aren wasn won shouldn couldn wouldn never',
    'mach mache stell stelle dreh der die das den dem des ein eine einen einem einer im in am an auf aus ist sind war bitte mir mich ich du wir und oder mit von zu zum zur bei fur wie was wo wer mal noch nicht es jetzt gerade hier dort da kannst konntest soll',
    'mets le la les l un une des du de d au aux et ou est sont dans sur pour par avec ce cette mon ma mes moi je tu il y en s plait te vous',
    'el los las una unos unas del al y o es esta en con por favor mi mis me se lo su',
    'zet doe het een de van op bij met en is zijn er mijn aub alsjeblieft graag ik je',
    'il lo gli i uno e ed di da in con su per che mio mia favore',
  ]
    .join(' ')
    .split(' '),
);
