// swift-tools-version: 6.3
// SPDX-License-Identifier: MIT
import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Refrain", path: ".."),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
  ],
  targets: [
    .executableTarget(
      name: "refrain-bench",
      dependencies: [
        .product(name: "RefrainCore", package: "Refrain"),
        .product(name: "OriginServer", package: "Refrain"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
