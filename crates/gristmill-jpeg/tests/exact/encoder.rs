//! A JPEG writer for tests: any sampling, any scans, any restart interval. It codes coefficients that it is given.

/// The coefficients of one component, in blocks of zigzag order, row by row, padded to whole MCUs.
pub(crate) struct Component {
    pub(crate) id: u8,
    pub(crate) h: usize,
    pub(crate) v: usize,
    pub(crate) table: u8,
    pub(crate) blocks: Vec<[i16; 64]>,
    /// Padded width in blocks.
    pub(crate) stride: usize,
    /// Size in blocks without padding.
    pub(crate) wide: usize,
    pub(crate) high: usize,
}

/// One scan: components, first and last zigzag position, bit positions before and after.
#[derive(Debug, Clone)]
pub(crate) struct Scan {
    pub(crate) components: Vec<usize>,
    pub(crate) band: (u8, u8),
    pub(crate) bits: (u8, u8),
}

/// Everything that a file is made of.
pub(crate) struct File {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) progressive: bool,
    pub(crate) components: Vec<Component>,
    pub(crate) mcus: (usize, usize),
    /// Quantisation tables in zigzag order.
    pub(crate) quant: Vec<[u16; 64]>,
    pub(crate) scans: Vec<Scan>,
    pub(crate) restart: usize,
    /// Tables made for each scan; otherwise ones that have all symbols.
    pub(crate) optimised: bool,
    pub(crate) jfif: bool,
    pub(crate) adobe: Option<u8>,
    /// Fill bytes, comments and a DNL segment.
    pub(crate) extras: bool,
}

/// A symbol of a table and bits behind it.
#[derive(Clone, Copy)]
struct Token {
    /// Table index: DC tables first, then AC; none for bits alone.
    table: Option<u8>,
    symbol: u8,
    bits: u32,
    count: u8,
}

/// Tokens of each restart segment.
type Segments = Vec<Vec<Token>>;

fn size_of(value: i32) -> u8 {
    (32 - value.unsigned_abs().leading_zeros()) as u8
}

/// The bits of a value of that size.
fn raw(value: i32, size: u8) -> u32 {
    (if value < 0 { value + (1 << size) - 1 } else { value }) as u32
}

impl File {
    /// The bytes of the file.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = vec![0xFF, 0xD8];
        if self.jfif {
            segment(&mut out, 0xE0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
        }
        if let Some(transform) = self.adobe {
            segment(&mut out, 0xEE, &[b"Adobe\0\x64\0\0\0\0".as_slice(), &[transform]].concat());
        }
        if self.extras {
            segment(&mut out, 0xFE, b"a comment with \xFF\xD9 in it");
            out.extend([0xFF, 0xFF]);
        }
        for (i, table) in self.quant.iter().enumerate() {
            let wide = table.iter().any(|&q| q > 255);
            let mut body = vec![(wide as u8) << 4 | i as u8];
            for &q in table {
                if wide {
                    body.push((q >> 8) as u8);
                }
                body.push(q as u8);
            }
            segment(&mut out, 0xDB, &body);
        }
        let mut body = vec![8];
        body.extend((self.height as u16).to_be_bytes());
        body.extend((self.width as u16).to_be_bytes());
        body.push(self.components.len() as u8);
        for c in &self.components {
            body.extend([c.id, (c.h << 4 | c.v) as u8, c.table]);
        }
        segment(&mut out, if self.progressive { 0xC2 } else { 0xC0 }, &body);
        if self.restart > 0 {
            segment(&mut out, 0xDD, &(self.restart as u16).to_be_bytes());
        }
        for (number, scan) in self.scans.iter().enumerate() {
            self.scan(scan, &mut out);
            if number == 0 && self.extras {
                segment(&mut out, 0xDC, &(self.height as u16).to_be_bytes());
            }
        }
        out.extend([0xFF, 0xD9]);
        out
    }

    fn scan(&self, scan: &Scan, out: &mut Vec<u8>) {
        let segments = self.tokens(scan);
        let mut counts = vec![[0u64; 256]; 8];
        for token in segments.iter().flatten() {
            if let Some(table) = token.table {
                counts[usize::from(table)][usize::from(token.symbol)] += 1;
            }
        }
        let mut codes = vec![[(0u8, 0u16); 256]; 8];
        for (i, count) in counts.iter_mut().enumerate() {
            if count.iter().all(|&n| n == 0) {
                continue;
            }
            if !self.optimised {
                let used = if i < 4 { 12 } else { 256 };
                for (symbol, n) in count.iter_mut().enumerate().take(used) {
                    let (run, size) = (symbol as u64 >> 4, symbol as u64 & 15);
                    *n = (1 << 20 >> (run / 2 + size)).max(1) + *n / 50;
                }
            }
            let (lengths, symbols) = lengths(count);
            let mut body = vec![if i < 4 { i as u8 } else { 0x10 | (i as u8 - 4) }];
            body.extend(lengths);
            body.extend(&symbols);
            segment(out, 0xC4, &body);
            let (mut code, mut at) = (0, 0);
            for (length, &n) in lengths.iter().enumerate() {
                for _ in 0..n {
                    codes[i][usize::from(symbols[at])] = (length as u8 + 1, code);
                    (code, at) = (code + 1, at + 1);
                }
                code <<= 1;
            }
        }
        let mut body = vec![scan.components.len() as u8];
        for &c in &scan.components {
            let table = u8::from(c > 0);
            body.extend([self.components[c].id, table << 4 | table]);
        }
        body.extend([scan.band.0, scan.band.1, scan.bits.0 << 4 | scan.bits.1]);
        segment(out, 0xDA, &body);
        for (number, tokens) in segments.iter().enumerate() {
            if number > 0 {
                out.extend([0xFF, 0xD0 | ((number - 1) & 7) as u8]);
            }
            let (mut held, mut count) = (0u64, 0);
            let mut put = |bits: u32, n: u8, out: &mut Vec<u8>| {
                held = held << n | u64::from(bits);
                count += u32::from(n);
                while count >= 8 {
                    let byte = (held >> (count - 8)) as u8;
                    out.push(byte);
                    if byte == 0xFF {
                        out.push(0);
                    }
                    count -= 8;
                }
                count
            };
            let mut left = 0;
            for token in tokens {
                if let Some(table) = token.table {
                    let (length, code) = codes[usize::from(table)][usize::from(token.symbol)];
                    put(code.into(), length, out);
                }
                left = put(token.bits, token.count, out);
            }
            if left > 0 {
                put((1 << (8 - left)) - 1, 8 - left as u8, out);
            }
        }
    }

    fn tokens(&self, scan: &Scan) -> Segments {
        let mut coder = Coder { segments: vec![vec![]], ..Coder::default() };
        let mut left = if self.restart == 0 { usize::MAX } else { self.restart };
        let alone = scan.components.len() == 1;
        let first = &self.components[scan.components[0]];
        let (wide, high) = if alone { (first.wide, first.high) } else { self.mcus };
        for y in 0..high {
            for x in 0..wide {
                if left == 0 {
                    coder.flush();
                    coder.segments.push(vec![]);
                    coder.previous = [0; 4];
                    left = self.restart;
                }
                left -= 1;
                for &index in &scan.components {
                    let c = &self.components[index];
                    let (h, v) = if alone { (1, 1) } else { (c.h, c.v) };
                    for dy in 0..v {
                        for dx in 0..h {
                            let block = &c.blocks[(y * v + dy) * c.stride + x * h + dx];
                            self.block(&mut coder, scan, index, block);
                        }
                    }
                }
            }
        }
        coder.flush();
        coder.segments
    }

    fn block(&self, coder: &mut Coder, scan: &Scan, index: usize, block: &[i16; 64]) {
        let table = u8::from(index > 0);
        coder.ac_table = 4 + table;
        let low = scan.bits.1;
        if !self.progressive {
            coder.dc(table, index, i32::from(block[0]));
            coder.ac_sequential(block);
        } else if scan.band.0 == 0 {
            if scan.bits.0 == 0 {
                coder.dc(table, index, i32::from(block[0]) >> low);
            } else {
                coder.put(None, 0, u32::from(block[0] as u16) >> low & 1, 1);
            }
        } else if scan.bits.0 == 0 {
            coder.ac_first(block, scan.band, low);
        } else {
            coder.ac_refine(block, scan.band, low);
        }
    }
}

#[derive(Default)]
struct Coder {
    segments: Segments,
    previous: [i32; 4],
    ac_table: u8,
    /// Blocks without anything more, and the correction bits in them.
    run: u32,
    corrections: Vec<u8>,
}

impl Coder {
    fn put(&mut self, table: Option<u8>, symbol: u8, bits: u32, count: u8) {
        let segment = self.segments.last_mut().unwrap();
        segment.push(Token { table, symbol, bits, count });
    }

    fn dc(&mut self, table: u8, index: usize, value: i32) {
        let difference = value - self.previous[index];
        self.previous[index] = value;
        let size = size_of(difference);
        self.put(Some(table), size, raw(difference, size), size);
    }

    fn ac(&mut self, run: usize, value: i32) {
        let size = size_of(value);
        self.put(Some(self.ac_table), (run as u8) << 4 | size, raw(value, size), size);
    }

    fn ac_sequential(&mut self, block: &[i16; 64]) {
        let mut zeros = 0;
        for &c in &block[1..] {
            if c == 0 {
                zeros += 1;
                continue;
            }
            while zeros > 15 {
                self.ac(15, 0);
                zeros -= 16;
            }
            self.ac(zeros, c.into());
            zeros = 0;
        }
        if zeros > 0 {
            self.ac(0, 0);
        }
    }

    fn flush(&mut self) {
        if self.run > 0 {
            let size = size_of(self.run as i32) - 1;
            let bits = self.run - (1 << size);
            self.put(Some(self.ac_table), size << 4, bits, size);
            self.run = 0;
        }
        for bit in std::mem::take(&mut self.corrections) {
            self.put(None, 0, bit.into(), 1);
        }
    }

    fn ac_first(&mut self, block: &[i16; 64], band: (u8, u8), low: u8) {
        let mut zeros = 0;
        for &c in &block[usize::from(band.0)..=usize::from(band.1)] {
            let value = i32::from(c.unsigned_abs() >> low) * i32::from(c.signum());
            if value == 0 {
                zeros += 1;
                continue;
            }
            self.flush();
            while zeros > 15 {
                self.ac(15, 0);
                zeros -= 16;
            }
            self.ac(zeros, value);
            zeros = 0;
        }
        if zeros > 0 {
            self.run += 1;
            if self.run == 0x7FFF {
                self.flush();
            }
        }
    }

    fn ac_refine(&mut self, block: &[i16; 64], band: (u8, u8), low: u8) {
        let magnitude = |k: usize| block[k].unsigned_abs() >> low;
        let positions = usize::from(band.0)..=usize::from(band.1);
        let last_new = positions.clone().rfind(|&k| magnitude(k) == 1).unwrap_or(0);
        let (mut zeros, mut corrections) = (0u8, Vec::new());
        for k in positions {
            if magnitude(k) == 0 {
                zeros += 1;
                continue;
            }
            while zeros > 15 && k <= last_new {
                self.flush();
                self.put(Some(self.ac_table), 0xF0, 0, 0);
                corrections.drain(..).for_each(|bit: u8| self.put(None, 0, bit.into(), 1));
                zeros -= 16;
            }
            if magnitude(k) > 1 {
                corrections.push((magnitude(k) & 1) as u8);
                continue;
            }
            self.flush();
            self.put(Some(self.ac_table), zeros << 4 | 1, u32::from(block[k] > 0), 1);
            corrections.drain(..).for_each(|bit| self.put(None, 0, bit.into(), 1));
            zeros = 0;
        }
        if zeros > 0 || !corrections.is_empty() {
            self.run += 1;
            self.corrections.append(&mut corrections);
            if self.run == 0x7FFF || self.corrections.len() > 900 {
                self.flush();
            }
        }
    }
}

fn segment(out: &mut Vec<u8>, marker: u8, body: &[u8]) {
    out.extend([0xFF, marker]);
    out.extend((body.len() as u16 + 2).to_be_bytes());
    out.extend(body);
}

/// How many codes of 1 to 16 bits, and the symbols in order: Huffman's algorithm, with one code left for "all ones",
/// and codes that come out too long made shorter as in annex K.2 of the standard.
fn lengths(counts: &[u64; 256]) -> ([u8; 16], Vec<u8>) {
    let mut trees: Vec<(u64, Vec<usize>)> =
        counts.iter().enumerate().filter(|c| *c.1 > 0).map(|(s, &n)| (n, vec![s])).collect();
    trees.push((0, vec![256]));
    let mut bits = [0usize; 257];
    while trees.len() > 1 {
        trees.sort_by(|a, b| b.cmp(a));
        let (a, b) = (trees.pop().unwrap(), trees.pop().unwrap());
        let all = [a.1, b.1].concat();
        all.iter().for_each(|&s| bits[s] += 1);
        trees.push((a.0 + b.0, all));
    }
    let mut number = [0u32; 300];
    bits.iter().filter(|&&b| b > 0).for_each(|&b| number[b] += 1);
    for i in (17..300).rev() {
        while number[i] > 0 {
            let j = (1..i - 1).rev().find(|&j| number[j] > 0).unwrap();
            number[i] -= 2;
            number[i - 1] += 1;
            number[j + 1] += 2;
            number[j] -= 1;
        }
    }
    let longest = (1..=16).rev().find(|&i| number[i] > 0).unwrap();
    number[longest] -= 1;
    let mut symbols: Vec<u8> = (0..=255).filter(|&s| bits[usize::from(s)] > 0).collect();
    symbols.sort_by_key(|&s| bits[usize::from(s)]);
    (std::array::from_fn(|i| number[i + 1] as u8), symbols)
}
