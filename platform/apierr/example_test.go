package apierr_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"stayledger/platform/apierr"
)

var errStatementExists = apierr.New(apierr.CodeConflict, apierr.ReasonStatementExists, "A statement of this period exists")

func Example() {
	err := fmt.Errorf("creating: %w", errStatementExists.With(map[string]any{"statementIds": []string{"s1"}}))

	failure := apierr.From(err)
	body, _ := json.Marshal(failure.Body("r1", ""))
	fmt.Println(failure.Code().Status(), string(body))
	fmt.Println(errors.Is(err, errStatementExists))
	// Output:
	// 409 {"code":"CONFLICT","reason":"statementExists","message":"A statement of this period exists","issues":[],"context":{"statementIds":["s1"]},"requestId":"r1","docs":"/docs/chapters/errors#statementExists"}
	// true
}
