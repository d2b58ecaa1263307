#!/bin/sh
echo "3 sold"
