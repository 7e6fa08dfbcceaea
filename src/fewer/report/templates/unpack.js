"use strict";

// plotly.js is packed by deflate (RFC 1951). Unpacking here and now, rather than by the browser's streams, has every
// figure in the page before it counts as loaded, so that it can be printed or photographed at once.
{
  const packed = document.getElementById("plotly");
  const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
  const out = new Uint8Array(Number(packed.dataset.size));
  let at = 0;
  let hold = 0;
  let held = 0;
  const bits = (count) => {
    while (held < count) {
      hold |= bytes[at++] << held;
      held += 8;
    }
    const value = hold & ((1 << count) - 1);
    hold >>>= count;
    held -= count;
    return value;
  };

  // A code is the number of its words of each length, and its symbols in their order.
  const codeOf = (lengths) => {
    const counts = new Uint16Array(16);
    for (const length of lengths) counts[length]++;
    counts[0] = 0;
    const starts = new Uint16Array(17);
    for (let length = 1; length < 16; length++) starts[length + 1] = starts[length] + counts[length];
    const symbols = new Uint16Array(lengths.length);
    lengths.forEach((length, symbol) => {
      if (length) symbols[starts[length]++] = symbol;
    });
    return { counts, symbols };
  };
  const symbolOf = ({ counts, symbols }) => {
    let word = 0;
    let first = 0;
    let before = 0;
    for (let length = 1; length < 16; length++) {
      word |= bits(1);
      const count = counts[length];
      if (word - count < first) return symbols[before + (word - first)];
      before += count;
      first = (first + count) << 1;
      word <<= 1;
    }
    throw new Error("The packed script is damaged.");
  };

  const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
  const dynamicCodes = () => {
    const [literals, distances, words] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
    const own = new Array(19).fill(0);
    for (let place = 0; place < words; place++) own[ORDER[place]] = bits(3);
    const code = codeOf(own);
    const lengths = [];
    while (lengths.length < literals + distances) {
      const symbol = symbolOf(code);
      if (symbol < 16) lengths.push(symbol);
      else {
        const value = symbol === 16 ? lengths.at(-1) : 0;
        const times = symbol === 16 ? 3 + bits(2) : symbol === 17 ? 3 + bits(3) : 11 + bits(7);
        for (let time = 0; time < times; time++) lengths.push(value);
      }
    }
    return [codeOf(lengths.slice(0, literals)), codeOf(lengths.slice(literals))];
  };
  const fixedCodes = () => {
    const length = (symbol) => (symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8);
    return [codeOf(Array.from({ length: 288 }, (_, symbol) => length(symbol))), codeOf(new Array(30).fill(5))];
  };

  // Lengths and distances of repeats: a symbol gives the smallest and how many bits are added to it.
  const lengthOf = (symbol) => {
    if (symbol < 8) return 3 + symbol;
    if (symbol === 28) return 258;
    const more = (symbol >> 2) - 1;
    return 3 + ((4 + (symbol & 3)) << more) + bits(more);
  };
  const distanceOf = (symbol) => {
    if (symbol < 4) return 1 + symbol;
    const more = (symbol >> 1) - 1;
    return 1 + ((2 + (symbol & 1)) << more) + bits(more);
  };

  let place = 0;
  for (let last = 0; !last; ) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) {
      hold = held = 0;
      const size = bytes[at] | (bytes[at + 1] << 8);
      out.set(bytes.subarray(at + 4, at + 4 + size), place);
      at += 4 + size;
      place += size;
    } else {
      const [literals, distances] = kind === 2 ? dynamicCodes() : fixedCodes();
      for (let symbol = symbolOf(literals); symbol !== 256; symbol = symbolOf(literals)) {
        if (symbol < 256) out[place++] = symbol;
        else {
          const length = lengthOf(symbol - 257);
          const from = place - distanceOf(symbolOf(distances));
          for (let step = 0; step < length; step++) out[place + step] = out[from + step];
          place += length;
        }
      }
    }
  }
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(out);
  document.head.append(script);
  script.remove();
}
