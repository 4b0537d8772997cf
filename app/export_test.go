package app

// WatchedMetrics returns the names of the table of metrics, each with the reason why it is left out, or "".
func WatchedMetrics() map[string]string {
	names := map[string]string{}

	for i := range watchedMetrics {
		names[watchedMetrics[i].metric] = watchedMetrics[i].without
	}

	return names
}

// WatchedExpressions returns all expressions of the table of metrics.
func WatchedExpressions() (all []string) {
	for i := range watchedMetrics {
		for _, q := range watchedMetrics[i].queries {
			all = append(all, q.expr)
		}

		for _, a := range watchedMetrics[i].alerts {
			if a.expr != "" {
				all = append(all, a.expr)
			}
		}
	}

	return all
}
