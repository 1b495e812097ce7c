package conformance

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

func TestBlobs_comeBackByteForByte(t *testing.T) {
	every := make([]byte, 64)
	for i := range every {
		every[i] = byte(i * 37) // with NUL, CR, LF and bytes that are not UTF-8
	}
	null, one := json.RawMessage("null"), json.RawMessage(`{"id":"o<1>"}`)
	pack := everything.MustPackBlobsRows(
		everything.BlobsRows{Data: []byte("\x00,;%"), Extra: json.RawMessage(`{"a":[1]}`)}, everything.BlobsRows{Data: nil},
	)
	tests := []struct {
		name   string
		params everything.BlobsParams
		want   everything.BlobsResult
	}{
		{
			"least",
			everything.BlobsParams{Payload: json.RawMessage("0"), Order: null},
			everything.BlobsResult{Data: []byte{}, Payload: json.RawMessage("0"), Order: null, Parts: [][]byte{}, Orders: []json.RawMessage{}, Rows: []everything.BlobsRowsResult{}},
		},
		{
			"all given",
			everything.BlobsParams{
				Data: every, Seal: []byte{0}, Payload: json.RawMessage(" {\"a\": \"\u00e9<\"} "), Order: one, Before: json.RawMessage("{}"),
				Note: json.RawMessage("null"), Parts: [][]byte{{}, {0}, {255, 10, 13}}, Orders: []json.RawMessage{one, json.RawMessage("0")}, Rows: pack,
			},
			everything.BlobsResult{
				Data: every, Seal: []byte{0}, Payload: json.RawMessage(" {\"a\": \"\u00e9<\"} "), Order: one, Before: json.RawMessage("{}"),
				Note: json.RawMessage("null"), Parts: [][]byte{{}, {0}, {255, 10, 13}}, Orders: []json.RawMessage{one, json.RawMessage("0")},
				Rows: []everything.BlobsRowsResult{{Data: []byte("\x00,;%"), Extra: json.RawMessage(`{"a":[1]}`)}, {Data: []byte{}}},
			},
		},
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for mode, client := range modes(t, rdb, c) {
			for _, test := range tests {
				test.params.Subject = "u"
				got, err := client.Blobs(t.Context(), test.params)
				if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
					t.Errorf("%s, %s: %v (-want +got):\n%s", test.name, mode, err, diff)
				}
			}
		}
	})
}

// Neither a client nor a reply may have a value that is not JSON, or one that is too long.
func TestBlobs_wrongJSONIsAnError(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for must, p := range map[string]everything.BlobsParams{
			"payload must be JSON":                   {Payload: json.RawMessage(`{"a":`)},
			"payload must be text of 1 to 32 bytes":  {Payload: json.RawMessage(`"` + strings.Repeat("x", 31) + `"`)},
			"order must be text of 4 to 64 bytes":    {Order: json.RawMessage(`"` + strings.Repeat("x", 63) + `"`)},
			"note must be JSON":                      {Note: json.RawMessage("nul")},
			"orders.1 must be text of 1 to 64 bytes": {Orders: []json.RawMessage{json.RawMessage("0"), json.RawMessage(`"` + strings.Repeat("x", 63) + `"`)}},
			"data must be text of 0 to 64 bytes":     {Data: make([]byte, 65)},
		} {
			p.Subject = "u"
			if p.Payload == nil {
				p.Payload = json.RawMessage("0")
			}
			if p.Order == nil {
				p.Order = json.RawMessage("null")
			}
			if _, err := c.Blobs(t.Context(), p); !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), must) {
				t.Errorf("got %v, want ErrArgument with %q", err, must)
			}
		}
		p := everything.BlobsParams{Subject: "u", Payload: json.RawMessage("0"), Order: json.RawMessage("null"), Wrong: everything.BlobsWrongBroken}
		var reply *fcall.ReplyError
		if _, err := c.Blobs(t.Context(), p); !errors.As(err, &reply) || reply.Field != "payload" {
			t.Errorf("half an object: got %v, want a ReplyError of payload", err)
		}
		p.Wrong = everything.BlobsWrongLong
		if _, err := c.Blobs(t.Context(), p); !errors.Is(err, fcall.ErrScript) || !strings.Contains(err.Error(), "result payload must be at most 32 bytes") {
			t.Errorf("33 bytes: got %v, want ErrScript", err)
		}
		err := rdb.FCall(t.Context(), "everything_v2_blobs", []string{"ns:{u}:state"}, "", "", "", "null", "", "", "", "0", "0").Err()
		if err == nil || !strings.Contains(err.Error(), "RLARG payload must be 1 to 32 bytes of JSON") {
			t.Errorf("no payload: got %v, want RLARG", err)
		}
	})
}

// A value that JSON does not have is not sent.
func TestJSON_refusesNaN(t *testing.T) {
	p := fcall.NewPacker("f", "rows", 1)
	p.Row().JSON("score", math.NaN(), 1, 64)
	if _, err := p.Pack(); !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), "rows.0.score must be a value that encoding/json writes") {
		t.Errorf("got %v, want ErrArgument", err)
	}
}
