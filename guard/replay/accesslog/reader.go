package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Options configure a Reader. The zero value detects the format.
type Options struct {
	// Format is the format of the lines. Defaults to Auto.
	Format Format
	// Fields holds the names of time, ip, method, path, request, user, status and id in JSON lines; see ParseFields. Defaults to
	// the names of nginx, Caddy, Traefik and zerolog, without a name for id.
	Fields map[string]string
}

const (
	blockBytes  = 256 << 10
	longestLine = 1 << 20
	sampleBytes = 64 << 10
)

// A Reader reads a log in blocks of some thousand lines. It is not safe for concurrent use.
type Reader struct {
	in     *bufio.Reader
	format Format
	parse  func(text string, l *Line) error
	number int64
	block  []byte // unparsed bytes
	lines  int    // number of lines in the last block, to size the next one
	long   bool   // inside a line that is too long
	ended  error
}

// NewReader returns a Reader of a log, plain or compressed with gzip. It reads the first lines to detect the format.
func NewReader(in io.Reader, o Options) (*Reader, error) {
	r := &Reader{in: bufio.NewReaderSize(in, sampleBytes)}
	if magic, _ := r.in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(r.in)
		if err != nil {
			return nil, fmt.Errorf("decompress log: %w", err)
		}
		r.in = bufio.NewReaderSize(unpacked, sampleBytes)
	}
	if mark, _ := r.in.Peek(3); string(mark) == "\ufeff" {
		_, _ = r.in.Discard(len(mark))
	}
	r.format = o.Format
	if o.Format == "" || o.Format == Auto {
		sample, err := r.in.Peek(sampleBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.format = detect(string(sample))
	}
	switch r.format {
	case Common:
		r.parse = new(commonParser).parse
	case JSON:
		r.parse = newJSONParser(o.Fields).parse
	default:
		return nil, fmt.Errorf("format must be auto, common or json, got %q", o.Format)
	}
	return r, nil
}

// detect returns JSON if most lines begin with a brace.
func detect(sample string) Format {
	objects, lines := 0, 0
	for line := range strings.Lines(sample) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		lines++
		if line[0] == '{' {
			objects++
		}
	}
	if objects*2 > lines {
		return JSON
	}
	return Common
}

// Format returns the format of the lines, never Auto.
func (r *Reader) Format() Format { return r.format }

// A Block is a part of a log.
type Block struct {
	Lines []Line
	Bad   []Bad
	Bytes int64 // of the uncompressed log
}

// Next returns the next lines, at least one, without blank ones. At the end it returns io.EOF.
func (r *Reader) Next() (*Block, error) {
	for {
		text, err := r.fill()
		if text == "" {
			return nil, err
		}
		b := &Block{Bytes: int64(len(text)), Lines: make([]Line, 0, r.lines+r.lines/8)}
		for line := range strings.Lines(text) {
			r.read(line, b)
		}
		r.lines = len(b.Lines)
		if len(b.Lines)+len(b.Bad) > 0 {
			return b, nil
		}
	}
}

func (r *Reader) read(line string, b *Block) {
	ends := strings.HasSuffix(line, "\n")
	switch {
	case r.long: // the rest of a line that is already in Bad
		r.long = !ends
		return
	case len(line) > longestLine:
		r.number++
		r.long = !ends
		b.Bad = append(b.Bad, Bad{r.number, "is longer than 1 MiB"})
		return
	}
	r.number++
	line = strings.TrimRight(line, "\r\n")
	if strings.TrimSpace(line) == "" {
		return
	}
	l := Line{Number: r.number}
	if err := r.parse(line, &l); err != nil {
		b.Bad = append(b.Bad, Bad{r.number, err.Error()})
		return
	}
	b.Lines = append(b.Lines, l)
}

// fill reads whole lines, a part of a line that is too long, or the rest of the log.

func (r *Reader) fill() (string, error) {
	for r.ended == nil {
		had := len(r.block)
		r.block = append(r.block, make([]byte, blockBytes)...)
		at := had
		for at < len(r.block) && r.ended == nil {
			var n int
			n, r.ended = r.in.Read(r.block[at:])
			at += n
		}
		r.block = r.block[:at]
		if end := bytes.LastIndexByte(r.block, '\n'); end >= 0 {
			return r.cut(end + 1), nil
		}
		if len(r.block) > longestLine {
			return r.cut(len(r.block)), nil
		}
	}
	return r.cut(len(r.block)), r.ended
}

func (r *Reader) cut(n int) string {
	text := string(r.block[:n])
	r.block = append(r.block[:0], r.block[n:]...)
	return text
}
