package app

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stayledger/domain/exchange/pms"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/seal"
)

// systems returns the options of property-management systems.
func (c *Config) systems() pms.Options {
	return pms.Options{AllowPrivate: c.LocalProviders, PublicURL: c.PublicURL, Within: c.ProviderTimeout, UncountedCalls: c.UncountedCalls}
}

// openSystems returns the property-management systems with our registrations at them. It fails for a registration that
// cannot be used.
func (c *Config) openSystems(box *seal.Box) (*pms.Systems, error) {
	systems := pms.New(box, c.systems())

	for _, name := range slices.Sorted(maps.Keys(c.OAuthClients)) {
		id, secret, _ := strings.Cut(c.OAuthClients[name], ":")

		r := pms.Registration{ID: id, Secret: secret, Address: c.OAuthAddresses[name]}
		if err := systems.Register(connection.AppID(name), r); err != nil {
			return nil, fmt.Errorf("--oauth-clients, --oauth-addresses: %w", err)
		}
	}

	for name := range c.OAuthAddresses {
		if _, registered := c.OAuthClients[name]; !registered {
			return nil, errors.New("--oauth-addresses: " + name + " has no registration among --oauth-clients")
		}
	}

	for _, name := range slices.Sorted(maps.Keys(c.AppMessages)) {
		user, password, _ := strings.Cut(c.AppMessages[name], ":")
		if err := systems.TakeMessages(connection.AppID(name), user, password); err != nil {
			return nil, fmt.Errorf("--app-messages: %w", err)
		}
	}

	return systems, nil
}
