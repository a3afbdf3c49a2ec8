package inflate

// readHeader reads the header of a block.
func (d *decoder) readHeader() error {
	d.atBlock = false
	if err := d.need(3); err != nil {
		return err
	}
	d.final = d.take(1) == 1
	switch d.take(2) {
	case 0:
		return d.readStoredHeader()
	case 1:
		d.setFixedCodes()
		d.state = (*decoder).readBlock
		return nil
	case 2:
		if err := d.readCodes(); err != nil {
			return err
		}
		d.state = (*decoder).readBlock
		return nil
	}
	return d.corrupt()
}

func (d *decoder) endBlock() {
	d.state, d.atBlock = (*decoder).readHeader, true
	if d.final {
		d.alignToByte()
		d.state, d.atBlock = nil, false
	}
}

func (d *decoder) readStoredHeader() error {
	d.alignToByte()
	if err := d.need(32); err != nil {
		return err
	}
	size, complement := d.take(16), d.take(16)
	d.alignToByte()
	if size^complement != 0xffff {
		return d.corrupt()
	}
	d.stored, d.state = size, (*decoder).copyStored
	return nil
}

// copyStored copies content of a stored block.
func (d *decoder) copyStored() error {
	if d.stored == 0 {
		d.endBlock()
		return nil
	}
	if d.pos == len(d.in) {
		if d.fill(); d.pos == len(d.in) {
			return unexpected(d.sourceErr)
		}
	}
	n := copy(d.window[d.end:min(d.end+d.stored, windowLimit)], d.in[d.pos:])
	d.pos, d.end, d.stored = d.pos+n, d.end+n, d.stored-n
	return nil
}

// setFixedCodes makes the tables of a block with fixed codes.
func (d *decoder) setFixedCodes() {
	var lengths [288]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	d.literals.build(lengths[:], literalSymbols[:])
	for i := range 32 {
		lengths[i] = 5
	}
	d.distances.build(lengths[:32], distanceSymbols[:])
	d.literals.makePairs(&d.pairs)
}

// headerOrder is the order in which the header of a block has the lengths of its codes.
var headerOrder = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// readCodes reads the codes of a block with dynamic codes.
func (d *decoder) readCodes() error {
	if err := d.need(14); err != nil {
		return err
	}
	literals, distances, headers := d.take(5)+257, d.take(5)+1, d.take(4)+4
	if literals > literalCodes || distances > distanceCodes {
		return d.corrupt()
	}
	var lengths [literalCodes + distanceCodes]uint8
	for _, symbol := range headerOrder[:headers] {
		if err := d.need(3); err != nil {
			return err
		}
		lengths[symbol] = uint8(d.take(3))
	}
	if !d.header.build(lengths[:len(headerSymbols)], headerSymbols[:]) {
		return d.corrupt()
	}
	lengths = [len(lengths)]uint8{}
	all := lengths[:literals+distances]
	if err := d.readLengths(all); err != nil {
		return err
	}
	if !d.literals.build(all[:literals], literalSymbols[:]) || !d.distances.build(all[literals:], distanceSymbols[:]) {
		return d.corrupt()
	}
	// Each block has an end: before it there are at least the bits of its code.
	d.literals.minBits = max(d.literals.minBits, uint(all[endOfBlock]))
	d.literals.makePairs(&d.pairs)
	return nil
}

// readLengths reads the number of bits of each code.
func (d *decoder) readLengths(lengths []uint8) error {
	for i := 0; i < len(lengths); {
		e, err := d.symbol(&d.header)
		if err != nil {
			return err
		}
		if e.value() < 16 {
			lengths[i] = uint8(e.value())
			i++
			continue
		}
		value, repeat, extra := uint8(0), 3, uint(3)
		switch e.value() {
		case 16:
			if i == 0 {
				return d.corrupt()
			}
			value, extra = lengths[i-1], 2
		case 18:
			repeat, extra = 11, 7
		}
		if err := d.need(extra); err != nil {
			return err
		}
		repeat += d.take(extra)
		if i+repeat > len(lengths) {
			return d.corrupt()
		}
		for range repeat {
			lengths[i] = value
			i++
		}
	}
	return nil
}

// symbol reads a code and returns its entry.
func (d *decoder) symbol(t *codeTable) (entry, error) {
	for n := t.minBits; ; {
		if err := d.need(n); err != nil {
			return 0, err
		}
		e := t.find(d.bits)
		if e.kind() == kindNone {
			return 0, d.corrupt()
		}
		if n = e.codeBits(); n <= d.nbits {
			d.take(n)
			return e, nil
		}
	}
}

// readBlock reads a part of a block that has codes.
func (d *decoder) readBlock() error {
	d.fast()
	return d.careful()
}

// careful reads codes as long as the fast loop cannot, at least one.
func (d *decoder) careful() error {
	for d.end < windowLimit {
		e, err := d.symbol(&d.literals)
		if err != nil {
			return err
		}
		switch e.kind() {
		case kindLiteral:
			d.window[d.end] = byte(e.value())
			d.end++
		case kindBase:
			if err := d.copyMatch(e); err != nil {
				return err
			}
		case kindEnd:
			d.endBlock()
			return nil
		default:
			return d.corrupt()
		}
		if len(d.in)-d.pos < fastInput {
			d.fill()
		}
		if len(d.in)-d.pos >= fastInput {
			return nil
		}
	}
	return nil
}

// copyMatch reads the rest of a match whose length has the entry, and copies it.
func (d *decoder) copyMatch(e entry) error {
	if err := d.need(e.extraBits()); err != nil {
		return err
	}
	length := e.length() + d.take(e.extraBits())
	e, err := d.symbol(&d.distances)
	if err != nil {
		return err
	}
	if e.kind() != kindBase {
		return d.corrupt()
	}
	if err := d.need(e.extraBits()); err != nil {
		return err
	}
	distance := e.value() + d.take(e.extraBits())
	if distance > d.end-d.start {
		return d.corrupt()
	}
	for range length {
		d.window[d.end] = d.window[d.end-distance]
		d.end++
	}
	return nil
}
