package node

import "testing"

func TestAWSHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string][2]string{
		"bedrock-runtime.us-east-1.amazonaws.com":                                   {"bedrock-runtime", "us-east-1"},
		"BEDROCK-RUNTIME.US-EAST-1.AMAZONAWS.COM":                                   {"bedrock-runtime", "us-east-1"},
		"bedrock-runtime-fips.us-gov-west-1.amazonaws.com":                          {"bedrock-runtime-fips", "us-gov-west-1"},
		"bedrock-runtime.cn-north-1.amazonaws.com.cn":                               {"bedrock-runtime", "cn-north-1"},
		"bedrock-runtime.eusc-de-east-1.amazonaws.eu":                               {"bedrock-runtime", "eusc-de-east-1"},
		"bedrock-runtime.ap-southeast-2.api.aws":                                    {"bedrock-runtime", "ap-southeast-2"},
		"vpce-0a1b-c2d3.bedrock-runtime.eu-central-1.vpce.amazonaws.com":            {"bedrock-runtime", "eu-central-1"},
		"vpce-0a1b-c2d3-eu-central-1a.bedrock-runtime.eu-west-1.vpce.amazonaws.com": {"bedrock-runtime", "eu-west-1"},
		"bedrock.us-east-1.amazonaws.com":                                           {"bedrock", "us-east-1"},
		"example.com":                                                               {},
		"amazonaws.com":                                                             {},
		"us-east-1.amazonaws.com":                                                   {},
		"bedrock-runtime.amazonaws.com":                                             {},
		"bedrock-runtime.us-east-1.amazonaws.com.evil.example":                      {},
		"evil.bedrock-runtime.us-east-1.amazonaws.com":                              {},
		"bedrock-runtime.us-east-1evilamazonaws.com":                                {},
	} {
		service, region, ok := AWSHost(host)
		if got := [2]string{service, region}; got != want || ok != (want != [2]string{}) {
			t.Errorf("%s: got %v %v, want %v", host, got, ok, want)
		}
	}
}

func TestIsAWSRegion(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]bool{
		"us-east-1": true, "us-gov-west-1": true, "us-isob-east-1": true, "mx-central-1": true, "ap-southeast-10": true, "eusc-de-east-1": true,
		"": false, "us": false, "us-east": false, "US-EAST-1": false, "us-east-1.evil.example": false, "us-east-1/": false, "us-east-1#": false, "us-east-1\n": false, "us--1": false,
	} {
		if got := IsAWSRegion(region); got != want {
			t.Errorf("%q: got %v", region, got)
		}
	}
}

func TestBedrockHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"bedrock.us-east-1.amazonaws.com":         "bedrock-runtime.us-east-1.amazonaws.com",
		"bedrock-fips.us-east-1.amazonaws.com":    "bedrock-runtime-fips.us-east-1.amazonaws.com",
		"bedrock.us-east-1.amazonaws.com:443":     "bedrock-runtime.us-east-1.amazonaws.com:443",
		"bedrock-runtime.us-east-1.amazonaws.com": "bedrock-runtime.us-east-1.amazonaws.com",
		"127.0.0.1:8090":                          "127.0.0.1:8090",
		"[::1]:8090":                              "[::1]:8090",
		"llm.example":                             "llm.example",
		"bedrock.example.com":                     "bedrock.example.com",
		"bedrock-mantle.us-east-1.api.aws":        "",
		"s3.us-east-1.amazonaws.com":              "",
	} {
		if got, ok := BedrockHost(host); ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %s %v, want %s", host, got, ok, want)
		}
	}
}
