// swift-tools-version: 6.3
// SPDX-License-Identifier: MIT
import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "Refrain", path: "..")
  ],
  targets: [
    .executableTarget(
      name: "refrain-bench",
      dependencies: [.product(name: "RefrainCore", package: "Refrain")],
      swiftSettings: [.swiftLanguageMode(.v6)])
  ]
)
