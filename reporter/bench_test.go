// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/Khan/genqlient/graphql"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/styrmin/styrmin/internal/serverclient"
)

// benchPods returns n pods in 200 namespaces, as the informer keeps them.
func benchPods(b *testing.B, n int) []*corev1.Pod {
	b.Helper()
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pod := goldenPods()[0].DeepCopy()
		pod.Namespace, pod.Name, pod.UID = fmt.Sprintf("ns-%d", i%200), fmt.Sprintf("server-%d", i), types.UID(fmt.Sprintf("7d1c9c9e-9d5f-4a51-8a5c-%012d", i))
		transformed, err := podTransform(pod)
		if err != nil {
			b.Fatal(err)
		}
		pods[i] = transformed.(*corev1.Pod)
	}
	return pods
}

func BenchmarkP7Cycle(b *testing.B) {
	for _, size := range []int{10_000, 50_000} {
		for _, changes := range []int{0, 500} {
			b.Run(fmt.Sprintf("%d pods with %d changes", size, changes), func(b *testing.B) {
				pods := benchPods(b, size)
				table := newPodTable()
				encoder, err := serverclient.New("http://127.0.0.1", "", "", defaultRequestTimeout)
				if err != nil {
					b.Fatal(err)
				}
				sent, version := 0, 1
				cycle := func() {
					if err := table.update(pods, nil); err != nil {
						b.Fatal(err)
					}
					reports := table.report(maxRowBytes)
					body, _, err := encoder.Encode(&graphql.Request{Variables: &podVariables{namespaces: reports}})
					if err != nil {
						b.Fatal(err)
					}
					sent = body.Len()
					_, _ = io.Copy(io.Discard, bytes.NewReader(body.Bytes()))
					table.acknowledge(reports, nil, nil)
				}
				cycle()
				b.ResetTimer()
				b.ReportAllocs()
				for range b.N {
					for i := range changes {
						version++
						pod := pods[(version*7919+i)%size]
						pod.ResourceVersion = fmt.Sprint(version)
						pod.Status.Message = fmt.Sprint(version)
					}
					cycle()
				}
				b.ReportMetric(float64(sent), "bytes/cycle")
			})
		}
	}
}
