package node

import (
	"regexp"
	"strings"
)

// awsRegion is the form of a region's code, whatever partition it is in. What is no such
// code must never become part of a host's name.
// https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html
var awsRegion = regexp.MustCompile(`^[a-z]{2,5}(-[a-z]{2,12}){1,2}-[0-9]{1,2}$`)

// IsAWSRegion reports whether text has the form of an AWS region's code, e.g. "us-east-1".
func IsAWSRegion(text string) bool { return len(text) <= 32 && awsRegion.MatchString(text) }

// awsDomains are what AWS's names of services end in: the classic one, China's, the European
// sovereign cloud's, and the one that serves IPv6 too.
// https://docs.aws.amazon.com/general/latest/gr/rande.html
var awsDomains = []string{".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".api.aws", ".api.amazonwebservices.com.cn"}

// AWSHost is what the name of a service's endpoint says: "bedrock-runtime" and "us-east-1" of
// "bedrock-runtime.us-east-1.amazonaws.com", and of a VPC endpoint's name the same. False:
// it is not the name of a regional AWS endpoint.
// https://docs.aws.amazon.com/vpc/latest/privatelink/privatelink-access-aws-services.html
func AWSHost(hostname string) (service, region string, ok bool) {
	hostname = strings.ToLower(hostname)
	for _, domain := range awsDomains {
		rest, found := strings.CutSuffix(hostname, domain)
		if !found {
			continue
		}
		labels := strings.Split(strings.TrimSuffix(rest, ".vpce"), ".")
		n := len(labels)
		if n < 2 || n > 3 || !IsAWSRegion(labels[n-1]) || n == 3 && !strings.HasPrefix(labels[0], "vpce-") {
			continue
		}
		return labels[n-2], labels[n-1], true
	}
	return "", "", false
}

// Services that serve Bedrock's models, and those that people write in their place: the
// latter manage models and serve none.
// https://docs.aws.amazon.com/general/latest/gr/bedrock.html
var bedrockServices = map[string]string{
	"bedrock-runtime": "bedrock-runtime", "bedrock-runtime-fips": "bedrock-runtime-fips",
	"bedrock": "bedrock-runtime", "bedrock-fips": "bedrock-runtime-fips",
}

// BedrockHost is the host that serves Bedrock's models, for the host of an address as people
// write it: "bedrock.us-east-1.amazonaws.com" manages models, which "bedrock-runtime" in its
// place serves. Both are AWS's own. False: it is an AWS endpoint of something else.
func BedrockHost(host string) (runtime string, ok bool) {
	hostname, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		hostname, port = host[:i], host[i:]
	}
	service, _, isAWS := AWSHost(hostname)
	if !isAWS {
		return host, true
	}
	serves, ok := bedrockServices[service]
	if !ok {
		return host, false
	}
	return strings.Replace(strings.ToLower(hostname), service+".", serves+".", 1) + port, true
}
