package finding_test

import (
	"encoding/json"
	"fmt"

	"stayledger/platform/finding"
)

func Example() {
	shown, _ := json.Marshal(finding.Finding{Code: "unassignedAccount", Severity: finding.Error, Context: map[string]any{"lineType": "rent"}})
	fmt.Println(string(shown))
	// Output: {"code":"unassignedAccount","severity":"error","context":{"lineType":"rent"}}
}
