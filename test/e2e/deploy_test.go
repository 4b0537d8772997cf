package e2e_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// composed is a service of the Compose file, with the parts that can be wrong.
type composed struct {
	Image       string
	Build       *struct{ Context, Dockerfile string }
	Command     []string
	Environment map[string]string
	Ports       []string
	Volumes     []string
	Healthcheck struct{ Test []string }
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
}

// deployed returns the text of a file of deploy.
func deployed(t *testing.T, name string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

// compose returns the services of the Compose file and the names of its volumes.
func compose(t *testing.T) (services map[string]composed, volumes map[string]any) {
	t.Helper()

	var file struct {
		Services map[string]composed
		Volumes  map[string]any
	}
	if err := yaml.Unmarshal([]byte(deployed(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}

	return file.Services, file.Volumes
}

// checkSettings fails for names that are no settings of the command.
func checkSettings(t *testing.T, where, command string, names ...string) {
	t.Helper()

	help, err := exec.CommandContext(t.Context(), binary, command, "--help").Output()
	if err != nil {
		t.Errorf("%s runs %s, which is no command: %v", where, command, err)
	}

	for _, name := range names {
		if !strings.Contains(string(help), "$"+name+")") {
			t.Errorf("%s sets %s, which %s does not know", where, name, command)
		}
	}
}

// matches returns the first group of all matches of a pattern.
func matches(text, pattern string) (out []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}

	return out
}

// The Compose file names commands, settings, files, volumes and services that are there, and the example has each value
// that it asks for, without a secret.
func TestTheComposeFileNamesWhatIsThere(t *testing.T) {
	t.Parallel()

	services, volumes := compose(t)
	for name, s := range services {
		if s.Build != nil {
			checkSettings(t, name, s.Command[0], slices.Collect(maps.Keys(s.Environment))...)

			if _, err := os.Stat(filepath.Join("../../deploy", s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Errorf("%s is built from a file that is not there: %v", name, err)
			}
		}

		if len(s.Healthcheck.Test) == 0 {
			t.Errorf("%s has no health check", name)
		}

		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, isNamed := volumes[source]; isNamed {
				continue
			}

			if _, err := os.Stat(filepath.Join("../../deploy", source)); err != nil {
				t.Errorf("%s mounts %s, which is neither a volume nor a file", name, source)
			}
		}

		for other, waits := range s.DependsOn {
			if _, isThere := services[other]; !isThere || waits.Condition != "service_healthy" {
				t.Errorf("%s waits for %s: %s", name, other, waits.Condition)
			}
		}
	}

	// Values that are asked for are empty in the example: those are the secrets.
	text, example := deployed(t, "compose.yaml"), "\n"+deployed(t, "env.example")
	for _, name := range matches(text, `\$\{([A-Z_]+):\?`) {
		if !strings.Contains(example, "\n"+name+"=\n") {
			t.Errorf("the example lacks %s, or has a value for it", name)
		}
	}

	asked := slices.Compact(slices.Sorted(slices.Values(matches(text, `\$\{([A-Z_]+):`))))
	if offered := slices.Sorted(slices.Values(matches(example, `\n([A-Z_]+)=`))); !slices.Equal(asked, offered) {
		t.Errorf("the Compose file asks for %v, the example has %v", asked, offered)
	}
}

// The image is built from files and by stages that are there, with the Go of the module, and serves on the ports that the
// Compose file publishes and asks.
func TestTheImageAgreesWithTheComposeFile(t *testing.T) {
	t.Parallel()

	text := deployed(t, "Containerfile")
	checkSettings(t, "the image", matches(text, `\nCMD \["(\w+)"\]`)[0], matches(text, `[ \t](STAYLEDGER_[A-Z_]+)=`)...)

	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}

	if built, wanted := matches(text, `FROM golang:([\d.]+)`)[0], matches(string(module), `\ngo (\d+\.\d+)`)[0]; built != wanted {
		t.Errorf("the image is built with Go %s, the module wants %s", built, wanted)
	}

	for _, stage := range matches(text, `COPY --from=(\w+)`) {
		if !strings.Contains(text, " AS "+stage+"\n") {
			t.Errorf("the image copies from %s, which is no stage", stage)
		}
	}

	files := strings.Fields(matches(text, `COPY (go\.mod[^\n]*) \./`)[0])
	for _, path := range append(files, matches(text, `go build [^\n]* (\./\S+)`)...) {
		if _, err := os.Stat(filepath.Join("../..", path)); err != nil {
			t.Errorf("the image is built from %s: %v", path, err)
		}
	}

	exposed := strings.Fields(matches(text, `\nEXPOSE ([^\n]+)`)[0])
	if listens := matches(text, `LISTEN=0\.0\.0\.0:(\d+)`); !slices.Equal(exposed, listens) {
		t.Errorf("the image listens on %v and exposes %v", listens, exposed)
	}

	services, _ := compose(t)
	for name, s := range services {
		if s.Build == nil {
			continue
		}

		for _, port := range s.Ports {
			if inside := port[strings.LastIndex(port, ":")+1:]; inside != exposed[0] {
				t.Errorf("%s publishes port %s", name, inside)
			}
		}

		if check := s.Healthcheck.Test[3]; !strings.Contains(check, "/dev/tcp/127.0.0.1/"+exposed[1]+" ") {
			t.Errorf("%s is asked by %s", name, check)
		}
	}
}

// The health check of the Compose file succeeds once a process is ready, and fails before and afterwards.
func TestTheHealthCheckAsksTheProcess(t *testing.T) {
	t.Parallel()

	services, _ := compose(t)
	_, port, _ := strings.Cut(freeAddress(t), ":")
	test := services["service"].Healthcheck.Test

	// Compose writes a dollar sign twice.
	script := strings.NewReplacer("$$", "$", "/9464 ", "/"+port+" ").Replace(test[3])
	isHealthy := func() bool {
		return exec.CommandContext(t.Context(), test[1], test[2], script).Run() == nil
	}

	if isHealthy() {
		t.Error("a process that is not there is healthy")
	}

	p := start(t, emptyDatabase(t), t.TempDir(), "serve", "--workers", "0", "--metrics-listen", "127.0.0.1:"+port)
	eventually(t, "the health check", isHealthy)
	p.kill()

	if isHealthy() {
		t.Error("a process that has ended is healthy")
	}
}

// The unit runs a command with settings that it knows.
func TestTheUnitNamesWhatIsThere(t *testing.T) {
	t.Parallel()

	text := deployed(t, "stayledger.service")
	checkSettings(t, "the unit", matches(text, `\nExecStart=/usr/local/bin/stayledger (\w+)`)[0], matches(text, `[ =](STAYLEDGER_[A-Z_]+)=`)...)
}
