package payorders

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
)

// compact is the body as the service serialises it: without white space, with the shortest spelling of numbers and
// texts, and the fields in their order. It is nil if the body is no JSON.
func compact(body []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	writer := compactWriter{}
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return writer.text.Bytes()
		}
		if err != nil || !writer.write(token) {
			return nil
		}
	}
}

// shortest is a number as JavaScript writes it.
func shortest(value float64) string {
	if math.Abs(value) >= 1e21 {
		return strconv.FormatFloat(value, 'e', -1, 64)
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// level is an object or a list that is open.
type level struct {
	isObject bool
	tokens   int
}

type compactWriter struct {
	text bytes.Buffer
	open []level
}

// separate writes what stands before the next key or value.
func (writer *compactWriter) separate() {
	if len(writer.open) == 0 {
		return
	}
	inner := &writer.open[len(writer.open)-1]
	switch {
	case inner.isObject && inner.tokens%2 == 1:
		writer.text.WriteByte(':')
	case inner.tokens > 0:
		writer.text.WriteByte(',')
	}
	inner.tokens++
}

// write writes a token, and says whether it could.
func (writer *compactWriter) write(token json.Token) bool {
	if delimiter, isDelimiter := token.(json.Delim); isDelimiter {
		if delimiter == '}' || delimiter == ']' {
			writer.open = writer.open[:len(writer.open)-1]
		} else {
			writer.separate()
			writer.open = append(writer.open, level{isObject: delimiter == '{'})
		}
		writer.text.WriteString(delimiter.String())
		return true
	}
	writer.separate()
	if number, isNumber := token.(json.Number); isNumber {
		value, err := number.Float64()
		writer.text.WriteString(shortest(value))
		return err == nil
	}
	encoder := json.NewEncoder(&writer.text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(token) != nil {
		return false
	}
	// Encode ends with a new line.
	writer.text.Truncate(writer.text.Len() - 1)
	return true
}
