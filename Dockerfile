# Both long-running programs in one image: /manager (default) and /styrmin-server.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
ARG VERSION=dev
COPY api api
COPY cmd cmd
COPY config config
COPY controllers controllers
COPY internal internal
COPY reporter reporter
COPY server server
COPY worker worker
ENV CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH
RUN go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/manager ./cmd \
 && go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/styrmin-server ./cmd/server

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ /
USER 65532:65532
ENTRYPOINT ["/manager"]
