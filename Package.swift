// swift-tools-version: 6.1
// SPDX-License-Identifier: MIT
import PackageDescription

/// What every target of ours is compiled with.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "Refrain",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .visionOS(.v2)],
  products: [
    .library(name: "Refrain", targets: ["Refrain"]),
    .library(name: "OriginServer", targets: ["OriginServer"]),
  ],
  dependencies: [
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    // The core. On Apple's platforms it depends on no third-party package.
    .target(
      name: "Refrain",
      dependencies: [
        .product(
          name: "AsyncHTTPClient", package: "async-http-client",
          condition: .when(platforms: [.linux])),
        .product(
          name: "NIOCore", package: "swift-nio", condition: .when(platforms: [.linux])),
        .product(
          name: "NIOFoundationCompat", package: "swift-nio",
          condition: .when(platforms: [.linux])),
        .product(
          name: "NIOHTTP1", package: "swift-nio", condition: .when(platforms: [.linux])),
        .target(name: "CLinuxSystem", condition: .when(platforms: [.linux])),
      ],
      swiftSettings: settings),
    // System calls that Glibc's module map does not show: preadv2(2), fallocate(2), SEEK_HOLE.
    .target(name: "CLinuxSystem"),
    .target(
      name: "OriginServer",
      dependencies: [
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "RefrainTests", dependencies: ["Refrain", "OriginServer", "refrain-crash-child"],
      swiftSettings: settings),
    // What the tests kill.
    .executableTarget(
      name: "refrain-crash-child", dependencies: ["Refrain"], path: "Tests/CrashChild",
      swiftSettings: settings),
    .testTarget(
      name: "OriginServerTests",
      dependencies: [
        "OriginServer",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: settings),
  ]
)
